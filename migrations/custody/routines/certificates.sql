-- The certificate of a destruction.

-- Ends a destruction, and writes its certificate.
--   elsewhere  what operators must destroy by other means
CREATE OR REPLACE FUNCTION custody.end_destruction(destruction bigint, elsewhere text[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT custody.destructions := custody.lock_destruction(destruction);
    body text;
BEGIN
    IF of.state = 'done' THEN
        RETURN;
    END IF;
    IF of.state <> 'started' OR EXISTS (SELECT FROM custody.steps s
            WHERE s.destruction_id = of.id AND s.ended_at IS NULL)
        OR EXISTS (SELECT FROM custody.counts c
            WHERE c.destruction_id = of.id AND c.kept_for IS NULL AND c.rows_after <> 0)
    THEN
        PERFORM errand.refuse('wrong_state', format('destruction %s is not complete', of.id));
    END IF;
    body := jsonb_pretty(jsonb_build_object(
        'destruction', of.id,
        'database', current_database(),
        'instance', (SELECT i.id FROM errand.instance i),
        'context', of.context,
        'reason', of.reason,
        'people_notified_on', of.notified_on,
        'planned', jsonb_build_object('at', of.planned_at, 'by', of.planned_by,
            'login', of.planned_by_login),
        'approved', jsonb_build_object('at', of.approved_at, 'by', of.approved_by,
            'login', of.approved_by_login),
        'started', jsonb_build_object('at', of.started_at, 'by', of.started_by),
        'ended_at', clock_timestamp(),
        'accepted', to_jsonb(of.accepted),
        'keeps_ledger', of.keeps_ledger,
        'steps', (SELECT jsonb_agg(jsonb_build_object('name', s.name, 'started_at', s.started_at,
                'ended_at', s.ended_at, 'detail', s.detail) ORDER BY s.position)
            FROM custody.steps s WHERE s.destruction_id = of.id),
        'tables', (SELECT jsonb_agg(jsonb_build_object('table', c.object, 'module', c.module,
                'rows_before', c.rows_before, 'rows_after', c.rows_after, 'kept_for', c.kept_for)
                ORDER BY c.module, c.object)
            FROM custody.counts c WHERE c.destruction_id = of.id),
        'rows_before', (SELECT sum(c.rows_before) FROM custody.counts c
            WHERE c.destruction_id = of.id AND c.kept_for IS NULL),
        'rows_after', (SELECT sum(c.rows_after) FROM custody.counts c
            WHERE c.destruction_id = of.id AND c.kept_for IS NULL),
        'destroy_elsewhere', to_jsonb(elsewhere)
    )) || E'\n';
    UPDATE custody.destructions d SET state = 'done', ended_at = clock_timestamp(),
        certificate = body, certificate_sha256 = sha256(convert_to(body, 'UTF8'))
    WHERE d.id = of.id;
END $$;
