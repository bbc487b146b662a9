-- Answers: whether they fit the questions, and what establishments see of them.
--
-- An answer is, by the number of its question, a rating as a number from 1 to 5, a choice as the
-- number of the option from 1, many as an array of these, yes_no as a boolean, a text as a string.

-- The numbers of options, as texts: 50 at most.
CREATE OR REPLACE FUNCTION surveys.option_numbers() RETURNS text[] LANGUAGE sql IMMUTABLE
RETURN '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,'
    '28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50}'::text[];

-- The same as a JSON array; a cast from the texts would not be constant.
CREATE OR REPLACE FUNCTION surveys.option_list() RETURNS jsonb LANGUAGE sql IMMUTABLE
RETURN '[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,
    28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50]'::jsonb;

-- Whether a JSON value is the number of an option; numbers have no fraction and no zeros before.
CREATE OR REPLACE FUNCTION surveys.is_option(value jsonb, options int) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN jsonb_typeof(value) = 'number'
    AND value #>> '{}' = ANY ((surveys.option_numbers())[1:options]);

-- Whether a JSON array lists different options. One expression, which is part of its query: a
-- function with a subquery takes ten times as long. A text search vector has each word once.
CREATE OR REPLACE FUNCTION surveys.are_options(list jsonb, options int) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN list <@ surveys.option_list() AND string_to_array(translate(list::text, '[] ', ''), ',')
        <@ (surveys.option_numbers())[1:options]
    AND length(array_to_tsvector(string_to_array(translate(list::text, '[] ', ''), ',')))
        = jsonb_array_length(list);

-- Whether a JSON value answers a question of this kind.
CREATE OR REPLACE FUNCTION surveys.is_answer(
    value jsonb, kind surveys.question_kind, options int
) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN CASE kind
    WHEN 'rating' THEN surveys.is_option(value, 5)
    WHEN 'choice' THEN surveys.is_option(value, options)
    WHEN 'yes_no' THEN jsonb_typeof(value) = 'boolean'
    WHEN 'text' THEN jsonb_typeof(value) = 'string' AND length(value #>> '{}') <= 1000
    ELSE CASE WHEN jsonb_typeof(value) = 'array' AND jsonb_array_length(value) <= options
        THEN surveys.are_options(value, options) ELSE false END END;

-- Whether a value that fits its question says nothing.
CREATE OR REPLACE FUNCTION surveys.is_empty(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN value IS NULL OR value = '[]'
    OR jsonb_typeof(value) = 'string' AND value #>> '{}' ~ '^[[:space:]]*$';

-- What is wrong with the answers to a version: malformed, wrong_version for numbers that it does
-- not have, incomplete without a required answer; null for nothing.
CREATE OR REPLACE FUNCTION surveys.fault_in(answers jsonb, survey bigint, version int)
RETURNS text LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    IF (jsonb_typeof(answers) = 'object' AND pg_column_size(answers) <= 524288) IS NOT TRUE THEN
        RETURN 'malformed';
    END IF;
    RETURN (SELECT CASE
            WHEN count(a.value) < (SELECT count(*) FROM jsonb_object_keys(answers))
                THEN 'wrong_version'
            WHEN NOT bool_and(a.value IS NULL OR surveys.is_answer(a.value, q.kind,
                cardinality(q.options))) THEN 'malformed'
            WHEN bool_or(q.is_required AND surveys.is_empty(a.value)) THEN 'incomplete' END
        FROM surveys.questions q
        CROSS JOIN LATERAL (SELECT answers -> q.number::text AS value OFFSET 0) AS a
        WHERE q.survey_id = survey AND q.version = version);
END $$;

-- The answers with masked texts.
CREATE OR REPLACE FUNCTION surveys.masked_answers(answers jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_object_agg(a.key, CASE jsonb_typeof(a.value)
            WHEN 'string' THEN to_jsonb(surveys.masked(a.value #>> '{}')) ELSE a.value END), '{}')
        FROM jsonb_each(answers) AS a);
END $$;

-- The answers without texts.
CREATE OR REPLACE FUNCTION surveys.without_texts(answers jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_object_agg(a.key, a.value), '{}')
        FROM jsonb_each(answers) AS a WHERE jsonb_typeof(a.value) <> 'string');
END $$;
