-- Workers and operators; the shop's servers call place_order().
SELECT errand.grant_rights('shop');
