-- The privileges in the schema notification.

SELECT errand.grant_rights('notification', '{
    "devices": ["token"],
    "notices": ["data"],
    "inbox_items": ["title", "body"],
    "parked_items": ["title", "body"],
    "endpoints": ["secret", "previous_secret"],
    "events": ["data"],
    "secrets": ["facts"],
    "direct_mails": ["address", "data"],
    "direct_secrets": ["facts"]
}');

-- The modules' migrations add their apps.
REVOKE INSERT, UPDATE, DELETE ON notification.apps FROM errand_worker;

GRANT USAGE ON SCHEMA notification TO errand_app;
-- These functions run with the rights of the owner, as app servers may not write the tables.
GRANT EXECUTE ON FUNCTION
    notification.intend(text, bigint, text, jsonb, text, timestamptz, bigint, jsonb),
    notification.mail_to(text, text, text, jsonb, jsonb, text, timestamptz),
    notification.emit(text, text, jsonb, text, timestamptz),
    notification.register_device(bigint, text, text, text, text, text),
    notification.unregister_device(bigint, text, text),
    notification.inbox(bigint, bigint, int),
    notification.mark_read(bigint, bigint[]),
    notification.unsubscribe(uuid, text),
    notification.set_preference(bigint, text, text, boolean),
    notification.preferences_of(bigint)
TO errand_app;
-- Once it wrote preferences itself.
REVOKE ALL ON notification.preferences FROM errand_app;

-- These functions run with the rights of the owner.
GRANT EXECUTE ON FUNCTION
    notification.intend(text, bigint, text, jsonb, text, timestamptz, bigint, jsonb),
    notification.mail_to(text, text, text, jsonb, jsonb, text, timestamptz),
    notification.emit(text, text, jsonb, text, timestamptz)
TO errand_worker;
GRANT EXECUTE ON FUNCTION notification.has_two_secrets(bigint)
    TO errand_worker, errand_inspector;
