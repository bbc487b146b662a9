-- What may lead to a person in what people wrote: the one mask of webhooks, reports and erasures.

-- A text without URLs, mail addresses, handles, numbers of six digits and more, street addresses,
-- postal codes of Canada and Britain, and names behind a title; white space and control characters
-- become single spaces. Best effort: a name without a title stays.
--
-- Works on words between single spaces, without the classes of letters of the database's locale.
-- The characters U+0001 and U+0002, which no text has after the first step, mark a street and a
-- title whose names follow.
CREATE OR REPLACE FUNCTION surveys.masked(words text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    domains CONSTANT text := 'com|ca|org|net|fr|qc|io|co|uk|de|info|biz|me|app|us|eu|be|ch|cm|sn'
        '|ci|edu|gov|ly|gl|tv|dev|shop';
    streets CONSTANT text := 'street|st|avenue|ave|av|road|rd|boulevard|blvd|boul|lane|drive|dr'
        '|court|ct|place|square|highway|hwy|rue|chemin|ch|route|rte|allée|quai|impasse|straße'
        '|strasse|calle|avenida|via|apt|apartment|appartement|suite|unit';
    titles CONSTANT text := 'mr|mrs|ms|miss|mx|dr|prof|sir|madam|mme|mlle|monsieur|madame'
        '|mademoiselle|docteur|herr|frau|señor|señora|sr|sra';
    -- Digits of several scripts, and capitals of Latin, Greek and Cyrillic.
    d CONSTANT text := '0-9٠-٩۰-۹०-९０-９';
    capital CONSTANT text := '["''(«“‘]*[A-ZÀ-ÖØ-ÞŁŚŠŽŹŻČĆĐŒŸΑ-ΩА-Я]';
    house CONSTANT text := '[' || d || ']{1,5}[a-z]{0,2}';
    -- The end of a word: punctuation that a mask may take with it.
    ends CONSTANT text := '[^ a-z0-9À-ÿ]*(?= |$)';
    t text := btrim(regexp_replace(words, '[\u0001-\u0020\u007F-\u00A0\u00AD\u061C\u1680'
        '\u180E\u2000-\u200F\u2028-\u202F\u205F-\u206F\u3000\uFEFF]+', ' ', 'g'));
BEGIN
    IF t !~* ('[' || d || '@＠]|\.[^ ]|://|\[at\]|<at>|\(at\)|(^|[ (])(m|' || titles || ')\.? ') THEN
        RETURN t;
    END IF;
    -- ann @ example.org and ann @example.org, then all that has an @, is a URL or ends in a domain.
    t := regexp_replace(t, '(^| )[^ ]+ ((@|＠|\(at\)|\[at\]|<at>) [^ ]+|[@＠][^ ]*\.[^ ]+)',
        '\1[…]', 'gi');
    t := regexp_replace(t, '(^| )([^ ]*([@＠]|://)[^ ]*|[^ a-z0-9]*www\.[^ ]*'
        || '|[^ ]*[^ .(]\.(' || domains || ')([/?:][^ ]*|' || ends || '))', '\1[…]', 'gi');
    -- 514 555-0199, 06 / 12 / 34 / 56 / 78; and words with six digits among letters.
    t := regexp_replace(t, '[+(#]*[' || d || ']([-+().,/:;!?x# –—·]*[' || d || ']){5,}[).!?,;:]*'
        || '|(?<= |^)(?=([^ ' || d || ']*[' || d || ']){6})[^ ]+', '[…]', 'g');
    -- Mrs Ann Lee: up to three words in capitals, until one ends a phrase. Before streets, which
    -- would take the title with them.
    t := regexp_replace(t, '(^|[ (])(' || titles || ')\.?(?= )', E'\\&\u0002', 'gi');
    t := regexp_replace(t, '(^|[ (])M\.?(?= ' || capital || ')', E'\\&\u0002', 'g');
    t := regexp_replace(t, E'\u0002(( ' || capital || E'([^ \u0002]*[^ .,;:!?\u0002])?(?= )){0,2} '
        || capital || E'[^ \u0002]*(?= |$))', ' […]', 'g');
    t := replace(t, E'\u0002', '');
    -- H2X 1Y4, h2x1y4, SW1A 1AA; before streets, which would take half of one.
    t := regexp_replace(t, '(?<![a-z0-9])([a-z][0-9][a-z][ -]?[0-9][a-z][0-9]'
        '|[a-z]{1,2}[0-9][a-z0-9]? [0-9][a-z]{2})(?![a-z0-9])', '[…]', 'gi');
    -- 12 rue Rachel, 4021 Mont Royal Avenue; Calle Mayor 5, apt. 12; Hauptstraße 5.
    t := regexp_replace(t, '(^| )[^ a-z' || d || ']*' || house || ',?( [^ ' || d
        || '][^ ]*){0,2} [^ a-z]*(' || streets || ')' || ends, E'\\1[…]\u0001', 'gi');
    t := regexp_replace(t, E'\u0001(( ' || capital || '[^ ]*| ' || house
        || '(?= |$)| (de|la|le|du|des|of|the|saint|st)(?= )){0,4})', '', 'g');
    t := regexp_replace(t, '(^| )([^ a-z]*(' || streets || ')' || ends || '( [^ ' || d
        || '][^ ]*){0,2}|[^ ]*stra(ß|ss)e,?) ' || house || ends, '\1[…]', 'gi');
    RETURN regexp_replace(t, '\[…\]([ -]\[…\])+', '[…]', 'g');
END $$;
