-- Reports as they are made: by workers and by operators.

-- Locks a report while its files are written; two that make it at once come one after the other.
-- Workers that make another report do not wait. The reason is ok, or not_kept or stated, and then
-- it cannot be made.
CREATE OR REPLACE FUNCTION reports.hold(report bigint, at timestamptz) RETURNS TABLE (
    reason text, establishment_id bigint, establishment text, kind text, period text,
    first_day date, end_day date, time_zone text, revision int, names jsonb, groups jsonb,
    trend jsonb, files jsonb
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- Statements of an establishment are made one after the other, as each begins where one ended.
    PERFORM FROM reports.reports r WHERE r.id = (
        SELECT min(s.id) FROM reports.reports s JOIN reports.reports o
            ON o.establishment_id = s.establishment_id AND o.kind = s.kind
        WHERE o.id = report AND o.kind = 'statement') FOR NO KEY UPDATE;
    PERFORM FROM reports.reports r WHERE r.id = report FOR NO KEY UPDATE;
    RETURN QUERY
    SELECT CASE
            WHEN NOT reports.is_kept(r.establishment_id, r.kind, r.from_at, r.until_at, at)
            THEN 'not_kept'
            WHEN r.kind = 'statement' AND r.revision = 0
                AND reports.is_stated(r.establishment_id, r.first_day) THEN 'stated'
            ELSE 'ok' END,
        r.establishment_id, e.name, r.kind::text, r.period, r.first_day, r.end_day, r.time_zone,
        r.revision, r.names, r.groups, r.trend,
        (SELECT jsonb_object_agg(f.name, encode(f.sha256, 'hex')) FROM reports.files f
            WHERE f.report_id = r.id AND f.revision = r.revision)
    FROM reports.reports r
    JOIN establishments.establishments e ON e.id = r.establishment_id
    WHERE r.id = report;
END $$;

-- Records a revision whose files are written, and notifies the contacts and the webhook. shown has
-- what it shows: headline, names, groups, trend, prints; lines and known_id of a statement.
CREATE OR REPLACE FUNCTION reports.record_revision(
    report bigint, revision int, folder text, manifest_sha256 bytea, names text[], sizes bigint[],
    sums bytea[], shown jsonb, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    -- A report of the same period may have been forgotten, and made again.
    DELETE FROM reports.old_folders o WHERE o.folder = folder;
    INSERT INTO reports.revisions (report_id, revision, folder, made_at, manifest_sha256, prints)
    VALUES (report, revision, folder, at, manifest_sha256, shown -> 'prints');
    INSERT INTO reports.files (report_id, revision, name, bytes, sha256)
    SELECT report, revision, f.name, f.size, f.sum
    FROM unnest(names, sizes, sums) AS f (name, size, sum);
    UPDATE reports.reports r SET revision = revision, made_at = at,
        headline = shown -> 'headline', names = shown -> 'names',
        groups = coalesce(r.groups, shown -> 'groups'),
        trend = coalesce(r.trend, shown -> 'trend'),
        lines = coalesce(r.lines, shown -> 'lines'),
        known_id = coalesce(r.known_id, (shown ->> 'known_id')::bigint)
    WHERE r.id = report;
    PERFORM reports.send(report, at);
END $$;

-- Notifies the contacts of an establishment, and its webhook, of the newest revision of a report;
-- returns how many contacts. A call later notifies them again.
CREATE OR REPLACE FUNCTION reports.send(report bigint, at timestamptz) RETURNS int
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    r reports.reports;
    name text;
    contact reports.contacts;
    sent int := 0;
    key text;
    summary text;
BEGIN
    UPDATE reports.reports k SET sendings = k.sendings + 1
    WHERE k.id = report AND k.revision > 0 RETURNING k.* INTO r;
    IF NOT FOUND THEN
        PERFORM errand.refuse('not_made', format('report %s is not made yet', report),
            'Make it with: errand report make');
    END IF;
    SELECT e.name INTO STRICT name FROM establishments.establishments e
    WHERE e.id = r.establishment_id;
    key := format('report:%s:r%s:%s', report, r.revision, r.sendings);
    summary := CASE
        WHEN r.kind = 'statement' THEN 'What is owed and paid.'
        WHEN (r.headline ->> 'given')::bigint = 0 AND (r.headline ->> 'completed')::bigint = 0
            AND (r.headline ->> 'expired')::bigint = 0
            THEN 'No survey was given, completed or expired.'
        ELSE format('Surveys given: %s, completed: %s, expired: %s.', r.headline ->> 'given',
            r.headline ->> 'completed', r.headline ->> 'expired') END;
    FOR contact IN SELECT * FROM reports.contacts c
        WHERE c.establishment_id = r.establishment_id ORDER BY c.email_key
    LOOP
        PERFORM notification.mail_to('report.ready', contact.email, contact.locale,
            jsonb_build_object('establishment', name, 'title', CASE r.kind
                WHEN 'weekly' THEN 'Weekly report ' WHEN 'monthly' THEN 'Monthly report '
                ELSE 'Statement ' END || r.period, 'summary', summary),
            NULL, key || ':' || contact.email_key, clock_timestamp() + interval '7 days');
        sent := sent + 1;
    END LOOP;
    PERFORM notification.emit('report.ready', 'establishment:' || r.establishment_id,
        jsonb_build_object('report', r.id, 'kind', r.kind, 'period', r.period,
            'revision', r.revision, 'made_at', r.made_at, 'summary', summary,
            'files', (SELECT jsonb_agg(jsonb_build_object('name', f.name, 'bytes', f.bytes,
                    'sha256', encode(f.sha256, 'hex')) ORDER BY f.name)
                FROM reports.files f WHERE f.report_id = r.id AND f.revision = r.revision)),
        key);
    RETURN sent;
END $$;

CREATE OR REPLACE FUNCTION reports.listing(
    establishment bigint, before bigint DEFAULT 9223372036854775807, max_rows int DEFAULT 100
) RETURNS TABLE (id bigint, kind text, period text, first_day date, end_day date, revision int,
    made_at timestamptz, folder text, file text, bytes bigint, sha256 text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.id, r.kind::text, r.period, r.first_day, r.end_day, r.revision, r.made_at, v.folder,
        f.name, f.bytes, encode(f.sha256, 'hex')
    FROM (
        SELECT k.* FROM reports.reports k
        WHERE k.establishment_id = establishment AND k.id < before AND k.revision > 0
        ORDER BY k.id DESC LIMIT least(greatest(max_rows, 0), 1000)
    ) AS r
    JOIN reports.revisions v ON v.report_id = r.id AND v.revision = r.revision
    JOIN reports.files f ON f.report_id = r.id AND f.revision = r.revision
    ORDER BY r.id DESC, f.name;
END $$;
COMMENT ON FUNCTION reports.listing(bigint, bigint, int) IS $doc$
Lists the files of an establishment's reports in their newest revisions, the newest report first.
The app's servers read them below the folder of ERRAND_REPORTS_DIR.

Arguments:
  establishment: the establishment
  before: only reports with a lower id: the last id of the page before
  max_rows: how many reports at most, up to 1000
Returns:
  id: the report
  kind: weekly, monthly or statement
  period: the week or month, such as 2026-W47 or 2026-10
  first_day: its first day
  end_day: the day behind its last
  revision: how often its figures have changed since it was made, plus 1
  made_at: when this revision was made
  folder: the folder of its files
  file: the name of a file
  bytes: its size
  sha256: its SHA-256, as the manifest has it
Repeated: Reads only.
Sample:
  SELECT id, kind, period, folder, file FROM reports.listing(establishment => 7);
$doc$;

-- Deletes reports of periods that ended before a time; workers remove their folders.
CREATE OR REPLACE FUNCTION reports.forget_reports(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    ids bigint[];
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM reports.reports r
            WHERE r.until_at < before LIMIT max_rows) AS old);
    END IF;
    ids := ARRAY(SELECT r.id FROM reports.reports r WHERE r.until_at < before
        ORDER BY r.until_at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    INSERT INTO reports.old_folders (folder)
    SELECT v.folder FROM reports.revisions v WHERE v.report_id = ANY (ids)
    -- A worker that was killed may have left the files of the next revision.
    UNION ALL SELECT r.establishment_id || '/' || r.kind || '-' || r.period || '-r'
        || r.revision + 1
    FROM reports.reports r WHERE r.id = ANY (ids)
    ON CONFLICT ON CONSTRAINT old_folders_pkey DO NOTHING;
    DELETE FROM reports.reports r WHERE r.id = ANY (ids);
    RETURN cardinality(ids);
END $$;
