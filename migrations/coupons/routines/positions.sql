-- Positions of people, to notify them of coupons near by.

-- A person's waiting reports are merged into the newest. A report from the future would stay the
-- newest for long; it gets a job of its own, which discards it. Reports older than ten minutes are
-- discarded.
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
    -- The position of somebody who is blocked or too young is not kept, and the answer does not
    -- show it.
    IF people.obstacle(person) NOT IN ('none', 'unknown_person') THEN
        RETURN nextval('errand.jobs_id_seq');
    END IF;
    RETURN errand.enqueue_own('coupons.position',
        jsonb_build_object('person_id', person, 'longitude', longitude, 'latitude', latitude,
            'accuracy_m', accuracy_m,
            'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
        unique_key => CASE WHEN at <= clock_timestamp() + interval '1 minute'
            THEN 'person:' || person END,
        on_duplicate => 'replace', newest_by => 'at');
END $$;
COMMENT ON FUNCTION coupons.report_position(
    bigint, double precision, double precision, double precision, timestamptz) IS $doc$
Reports a person's position. A worker finds their usable coupons near by and notifies the person, if
they agreed to notices by place. A report older than 10 minutes, or less accurate than the radius of
an offer, is discarded; so are those of people who are blocked, under 16 or of unknown age.

Arguments:
  person: the person
  longitude: WGS 84, degrees
  latitude: WGS 84, degrees
  accuracy_m: the radius of the position's uncertainty, in meters
  at: when the person was there
Returns:
  report: the id of the report, whatever becomes of it
Errors:
  22003: the place or the accuracy is out of range
  22004: an argument is null
  22008: at is not in the years 1970 to 9999
Repeated: merges with the person's report that waits for a worker; the newest position counts.
Sample:
  SELECT coupons.report_position(person => 17, longitude => -73.57, latitude => 45.52,
      accuracy_m => 20, at => now()) IS NOT NULL;
$doc$;
