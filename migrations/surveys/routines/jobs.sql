-- For the jobs, doctor and the listings of operators, who do not read the keys themselves.

-- Returns the keys of an establishment, without the keys themselves.
CREATE OR REPLACE FUNCTION surveys.keys_of(establishment bigint)
RETURNS TABLE (
    establishment_id bigint, version int, created_at timestamptz, retired_at timestamptz,
    good_until timestamptz, is_open boolean
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT k.establishment_id, k.version, k.created_at, k.retired_at, k.good_until,
        o.version IS NOT NULL
    FROM surveys.receipt_keys k
    LEFT JOIN surveys.open_receipt_keys o USING (establishment_id, version)
    WHERE k.establishment_id = establishment
    ORDER BY k.version DESC;
END $$;

-- Returns numbers for doctor.
--   missing   establishments whose receipts lead to a survey and that have no current key
--   closed    valid keys that are not open: after a crash, until a worker opens them
--   late      open invitations that expired before a time
--   waiting   answers that wait for a review since before a time
CREATE OR REPLACE FUNCTION surveys.health(
    late_before timestamptz, waiting_before timestamptz,
    OUT surveys bigint, OUT missing bigint, OUT first_missing bigint, OUT closed bigint,
    OUT first_closed bigint, OUT late bigint, OUT waiting bigint, OUT overdue bigint
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT count(*), count(*) FILTER (WHERE s.for_receipts AND k.version IS NULL),
        min(s.establishment_id) FILTER (WHERE s.for_receipts AND k.version IS NULL)
    INTO health.surveys, health.missing, health.first_missing
    FROM surveys.surveys s
    LEFT JOIN surveys.receipt_keys k
        ON k.establishment_id = s.establishment_id AND k.retired_at IS NULL
    WHERE s.closed_at IS NULL;
    SELECT count(*), min(k.establishment_id) INTO health.closed, health.first_closed
    FROM surveys.receipt_keys k
    LEFT JOIN surveys.open_receipt_keys o USING (establishment_id, version)
    WHERE o.version IS NULL AND (k.good_until IS NULL OR k.good_until > now());
    SELECT count(*) INTO health.late FROM (
        SELECT FROM surveys.invitations i, surveys.sweeps w
        WHERE w.sweep = 'expire' AND i.person_id IS NOT NULL AND i.state = 'open'
          AND i.expires_at >= w.at AND i.expires_at < late_before LIMIT 100000) AS l;
    SELECT count(*), count(*) FILTER (WHERE r.sampled_at < waiting_before)
    INTO health.waiting, health.overdue
    FROM surveys.reviews r WHERE r.verdict IS NULL;
END $$;

-- Notifies a person of an invitation without a receipt, in the transaction of the invitation.
CREATE OR REPLACE FUNCTION surveys.announce(i surveys.invitations) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notification.intend('survey.invited', i.person_id, 'survey:' || i.survey_id,
        jsonb_build_object('title', v.title, 'establishment', e.name, 'minutes', v.minutes,
            'reward', jsonb_build_object('minor', v.cut, 'currency', v.currency),
            'last_day',
                ((i.expires_at - interval '1 microsecond') AT TIME ZONE p.time_zone)::date),
        'survey-invited:' || i.id, i.expires_at)
    FROM surveys.versions v, establishments.establishments e, people.people p
    WHERE v.survey_id = i.survey_id AND v.version = i.version AND e.id = i.establishment_id
      AND p.id = i.person_id;
END $$;
