-- A URL of an endpoint holds no login (https://user:password@host): it cannot be used, and listings
-- and logs would repeat it. Endpoints that have one are disabled and keep it for the record.

UPDATE notification.endpoints
SET disabled_at = clock_timestamp(),
    disabled_reason = 'its URL contains a login: add the endpoint again without user:password@'
WHERE url ~ '^https?://[^/?#\\]*@' AND disabled_at IS NULL;

ALTER TABLE notification.endpoints ADD CONSTRAINT endpoints_url_has_no_login
    CHECK (disabled_at IS NOT NULL OR url !~ '^https?://[^/?#\\]*@');
