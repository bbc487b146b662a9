-- Functions for hashes and ciphers of ballots, receipts and links, and for places.

-- Wrappers of pgcrypto and PostGIS, bound here to their schemas, so that callers need only
-- pg_catalog in their search_path.
CREATE OR REPLACE FUNCTION votes.mac(message bytea, key bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN hmac(message, key, 'sha256');

CREATE OR REPLACE FUNCTION votes.encrypt(plain bytea, key bytea, iv bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encrypt_iv(plain, key, iv, 'aes-cbc/pad:pkcs');

CREATE OR REPLACE FUNCTION votes.decrypt(cipher bytea, key bytea, iv bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN decrypt_iv(cipher, key, iv, 'aes-cbc/pad:pkcs');

CREATE OR REPLACE FUNCTION votes.random_bytes(count int)
RETURNS bytea LANGUAGE sql VOLATILE PARALLEL SAFE RETURN gen_random_bytes(count);

CREATE OR REPLACE FUNCTION votes.new_slow_hash(secret text)
RETURNS text LANGUAGE sql VOLATILE PARALLEL SAFE RETURN crypt(secret, gen_salt('bf', 10));

CREATE OR REPLACE FUNCTION votes.is_slow_hash(secret text, hash text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN crypt(secret, hash) = hash;

CREATE OR REPLACE FUNCTION votes.point(longitude double precision, latitude double precision)
RETURNS geography LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN st_setsrid(st_makepoint(longitude, latitude), 4326)::geography;

CREATE OR REPLACE FUNCTION votes.latitude(place geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_y(place::geometry);

-- Returns a place on a Mercator map, in degrees, as in the column votes.map_point.
CREATE OR REPLACE FUNCTION votes.map_point(longitude double precision, latitude double precision)
RETURNS point LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN point(longitude, degrees(ln(tan(radians(
    45 + least(greatest(latitude, -89.9), 89.9) / 2)))));

CREATE OR REPLACE FUNCTION votes.distance(one geography, other geography)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_distance(one, other);

CREATE OR REPLACE FUNCTION votes.is_within(one geography, other geography, metres double precision)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN st_dwithin(one, other, metres);

-- Returns a choice as text: the options' numbers, lowest first, such as 1-3-4.
--
-- Stable, like the functions that it calls: PostgreSQL does not inline an SQL function that claims
-- more than its body, and plans it again with each call.
CREATE OR REPLACE FUNCTION votes.choice_text(choice int[])
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN array_to_string(choice, '-');

-- Returns a field of a hash input: its length in four bytes, big-endian, and the value.
CREATE OR REPLACE FUNCTION votes.field(value bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN int4send(length(value)) || value;

-- Returns the commitment of a ballot: SHA-256 over four fields: errand-ballot-v1, the vote's id and
-- the choice as texts, and 32 random bytes that only the voter has.
CREATE OR REPLACE FUNCTION votes.commitment(vote bigint, choice int[], nonce bytea)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
RETURN sha256(votes.field('errand-ballot-v1'::bytea) || votes.field(vote::text::bytea)
    || votes.field(votes.choice_text(choice)::bytea) || votes.field(nonce));

-- Returns a receipt: v1.VOTE.CHOICE.NONCE, with the nonce in base64url (RFC 4648 section 5) without
-- padding.
CREATE OR REPLACE FUNCTION votes.receipt(vote bigint, choice int[], nonce bytea)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN 'v1.' || vote || '.' || votes.choice_text(choice) || '.'
    || rtrim(translate(encode(nonce, 'base64'), '+/', '-_'), '=');

-- Returns the IV and the AES-256-CBC ciphertext of nonce and choice. A sealed link appends an
-- HMAC-SHA-256 over the vote, the person and these two. All links of a vote have the same length.
CREATE OR REPLACE FUNCTION votes.encrypt_link(
    nonce bytea, choice int[], max_choices int, cipher_key bytea, iv bytea
) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
RETURN iv || votes.encrypt(
    nonce || rpad(votes.choice_text(choice), 4 * max_choices)::bytea, cipher_key, iv);

CREATE OR REPLACE FUNCTION votes.link_mac(vote bigint, person bigint, body bytea, mac_key bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN votes.mac('link'::bytea || int8send(vote) || int8send(person) || body, mac_key);

-- Returns whether a link was sealed for this vote and person.
CREATE OR REPLACE FUNCTION votes.is_link_of(vote bigint, person bigint, sealed bytea, mac_key bytea)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr(sealed, length(sealed) - 31)
    = votes.link_mac(vote, person, substr(sealed, 1, length(sealed) - 32), mac_key);

-- Opens a link: returns the nonce, followed by the choice padded with spaces.
CREATE OR REPLACE FUNCTION votes.open_link(sealed bytea, cipher_key bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN votes.decrypt(substr(sealed, 17, length(sealed) - 48), cipher_key, substr(sealed, 1, 16));

-- Wraps a share with a wrapping key of 16 bytes: AES-128. The share is random, and each key wraps
-- it once, so that no initialization vector is needed.
CREATE OR REPLACE FUNCTION votes.wrap(share bytea, wrapping_key bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encrypt(share, wrapping_key, 'aes-cbc/pad:none');

CREATE OR REPLACE FUNCTION votes.unwrap(wrapped bytea, wrapping_key bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN decrypt(wrapped, wrapping_key, 'aes-cbc/pad:none');

-- Returns what follows the 32 random bytes of a share.
CREATE OR REPLACE FUNCTION votes.share_end()
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '\x00000000000000000000000000000000'::bytea;

-- Returns whether a share was unwrapped with its key.
CREATE OR REPLACE FUNCTION votes.is_share(share bytea)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr(share, 33) = votes.share_end();

-- Returns the key that seals the links of a vote, of the vote's key and its share.
CREATE OR REPLACE FUNCTION votes.link_key(cipher_key bytea, share bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN sha256(cipher_key || share);
