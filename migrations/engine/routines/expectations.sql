-- Checks of arguments, for the functions of all modules.

-- Raises an error with this text unless is_so is true.
CREATE OR REPLACE FUNCTION errand.expect(is_so boolean, what text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF is_so IS NOT TRUE THEN
        RAISE EXCEPTION '%', what USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

-- Raises the refusal of a rule, which is nobody's mistake: SQLSTATE RU001, the reason as DETAIL.
-- Drivers take the classes 53 to 58 for a server that is down; class RU is Errand's own.
CREATE OR REPLACE FUNCTION errand.refuse(reason text, what text, hint text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF hint IS NULL THEN
        RAISE EXCEPTION '%', what USING ERRCODE = 'RU001', DETAIL = reason;
    END IF;
    RAISE EXCEPTION '%', what USING ERRCODE = 'RU001', DETAIL = reason, HINT = hint;
END $$;

-- Raises the error of something that is not ready yet: SQLSTATE RU002. The same call succeeds
-- later.
CREATE OR REPLACE FUNCTION errand.ask_again(what text, hint text DEFAULT 'Call again in a second.')
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', what USING ERRCODE = 'RU002', DETAIL = 'not_ready', HINT = hint;
END $$;

-- Whether a text is the name of a time zone, as it is spelled in tzdata, and no offset or
-- abbreviation. PostgreSQL reads one file for it; pg_timezone_names reads all of them.
CREATE OR REPLACE FUNCTION errand.is_zone(name text) RETURNS boolean LANGUAGE plpgsql
SET timezone = 'UTC' AS $$
BEGIN
    IF (name ~ '^(UTC|(?!posix/|right/)[A-Za-z_]+(/[A-Za-z0-9_+-]+)+)$') IS NOT TRUE THEN
        RETURN false;
    END IF;
    -- Any name with an offset behind it is a zone of POSIX; of files, few names have digits.
    IF name ~ '\d' THEN
        RETURN EXISTS (SELECT FROM pg_catalog.pg_timezone_names z WHERE z.name = is_zone.name);
    END IF;
    -- PostgreSQL takes any case, and shows the file's own name. The setting ends with the function.
    PERFORM set_config('timezone', name, true);
    RETURN current_setting('timezone') = name;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END $$;

-- The form in which two names of operators are compared: NFKC, case-folded, without invisible
-- characters, and with single spaces. So Zoë and "ZOË " are equal.
CREATE OR REPLACE FUNCTION errand.operator_key(name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    spaces CONSTANT text :=
        U&'[\0009-\000D\0020\0085\00A0\1680\2000-\200A\2028\2029\202F\205F\3000]+';
    unseen CONSTANT text := U&'[\0001-\0008\000E-\001F\007F-\0084\0086-\009F\00AD\034F\061C'
        '\115F\1160\17B4\17B5\180B-\180E\200B-\200F\202A-\202E\2060-\206F\3164\FE00-\FE0F\FEFF'
        '\FFA0\FFF9-\FFFB]';
    key text;
BEGIN
    key := regexp_replace(normalize(name, NFKC), unseen, '', 'g');
    -- Upper and lower, so that ß equals SS.
    key := lower(upper(key COLLATE "und-x-icu") COLLATE "und-x-icu");
    RETURN normalize(btrim(regexp_replace(key, spaces, ' ', 'g')), NFKC);
END $$;
