-- Reports a person's position; returns the id of the job that finds nearby coupons.
--
-- A person's waiting reports are merged into the newest. A report from the future would stay the
-- newest for long; it gets a job of its own, which discards it. Reports older than ten minutes are
-- discarded. accuracy_m is the radius of the position's uncertainty, in metres.
--
-- It runs with its owner's rights because its callers, app servers, must not write jobs directly.
CREATE OR REPLACE FUNCTION coupons.report_position(
    person bigint, longitude double precision, latitude double precision,
    accuracy_m double precision, at timestamptz
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF person IS NULL OR longitude IS NULL OR latitude IS NULL OR accuracy_m IS NULL
        OR at IS NULL THEN
        RAISE EXCEPTION 'report_position needs person, longitude, latitude, accuracy_m and at'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF NOT (longitude BETWEEN -180 AND 180 AND latitude BETWEEN -90 AND 90) THEN
        RAISE EXCEPTION 'position % %: expected longitude -180 to 180, then latitude -90 to 90',
            longitude, latitude USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    -- JSON has neither NaN nor infinities.
    IF NOT (accuracy_m > '-Infinity' AND accuracy_m < 'Infinity') THEN
        RAISE EXCEPTION 'accuracy_m %: expected metres', accuracy_m
            USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    IF NOT (at >= '1970-01-01Z' AND at < '10000-01-01Z') THEN
        RAISE EXCEPTION 'at %: expected a time in the years 1970 to 9999', at
            USING ERRCODE = 'datetime_field_overflow';
    END IF;
    RETURN errand.enqueue_own('coupons.position',
        jsonb_build_object('person_id', person, 'longitude', longitude, 'latitude', latitude,
            'accuracy_m', accuracy_m,
            'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
        unique_key => CASE WHEN at <= clock_timestamp() + interval '1 minute'
            THEN 'person:' || person END,
        on_duplicate => 'replace', newest_by => 'at');
END $$;
