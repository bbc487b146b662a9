/// What people do in surveys, reports, news, inquiries and missions that are reviewed.
///
/// Each text about a person has their mark.
extension Lives {
    /// Surveys 8, by receipts and invitations, and webhooks of the establishment and of operators.
    static let surveySetup = """
        SELECT count(people.record_consent(p.id, 'sharing', '1')) FROM people.people p;
        SELECT surveys.put_survey(8, 7, 'Visit', 2, paid => 500, cut => 300,
            coupon_title => 'A tea', questions => '[
                {"kind": "rating", "label": "Service", "is_required": true},
                {"kind": "text", "label": "Why", "is_required": false}]');
        INSERT INTO notification.endpoints (owner, url, events, secret)
        SELECT o, 'http://127.0.0.1:9/', '{*}', '\\x00'
        FROM unnest('{establishment:7,operator}'::text[]) AS o;
        UPDATE surveys.rules SET scans_a_day = 100000, scans_of_branch = 100000;
        SELECT reports.put_settings(7, 'UTC')
        """

    static func answers(
        _ person: Int, _ other: Int, _ mark: String, _ number: Int
    ) -> [String: String] {
        [
            // As a till prints it.
            "scan": """
            SELECT s.reason FROM surveys.open_receipt_keys k
            CROSS JOIN LATERAL (SELECT 'ER1.7.3.R-' || upper('\(mark)') || '-\(number).'
                || extract(epoch FROM now())::bigint AS message) AS m
            CROSS JOIN LATERAL surveys.scan(\(person), m.message || '.' || upper(encode(substr(
                coupons.mac(k.inner_block, k.outer_block, m.message::bytea), 1, 10), 'hex')),
                'scan-\(mark)-\(number)') AS s
            WHERE k.establishment_id = 7
            """,
            "invite": """
            SELECT surveys.invite(\(person), 8, 'asked by \(mark)', 'invite-\(mark)-\(number)')
            """,
            "complete": """
            SELECT c.reason FROM (SELECT i.id, i.person_id, 'qx' || i.person_id || 'z' AS mark
                FROM surveys.invitations i WHERE i.state = 'open'
                ORDER BY i.id DESC OFFSET \(number % 5) LIMIT 1) AS o,
            surveys.complete(o.person_id, o.id, jsonb_build_object('1', \(1 + number % 5),
                '2', format('I am %1$s, of %1$s@lives.example', o.mark)), 5,
                'complete-' || o.mark || '-\(number)') AS c
            """,
            "verdict": """
            SELECT surveys.review(c.invitation_id, 'bad', 'ann', 'said of qx' || c.person_id || 'z')
            FROM surveys.completions c WHERE c.person_id IS NOT NULL
            ORDER BY c.invitation_id DESC OFFSET \(number % 5) LIMIT 1
            """,
            "sample": """
            DO $$ BEGIN
                UPDATE surveys.completions SET completed_at = completed_at - interval '2 hours'
                WHERE completed_at > now() - interval '1 hour';
                PERFORM surveys.sample();
            END $$
            """,
            "area": "SELECT reports.put_postal_prefix(\(person), 'H2X')",
            "visit": visit(person, mark, number),
        ]
    }

    /// A mission from its offer to the review, in one transaction.
    private static func visit(_ person: Int, _ mark: String, _ number: Int) -> String {
        let review =
            [
                "missions.review(visit, 'ann', 'return', 'seen with \(mark)', code => 'faces', "
                    + "tasks => '{1}')",
                "missions.review(visit, 'ann', 'approve'), missions.redact(visit, 'ann', '{1}')",
                "missions.review(visit, 'ann', 'reject', 'said of \(mark)', code => 'copied')",
            ][number % 3]
        return """
            DO $$ DECLARE visit bigint; BEGIN
                PERFORM missions.hire(\(person), 'ann'),
                    missions.set_shopper(\(person), -73.56, 45.5, 20000, 20);
                SELECT o.assignment_id INTO STRICT visit
                FROM missions.open_mission(3, 'Visit \(number)', now() - interval '1 hour',
                    now() + interval '1 day', 2500, 1500,
                    '[{"kind": "photos", "title": "The door"}]', 'UTC', rest_days => 0,
                    coupons => '[{"establishment": 7, "title": "Tea", "days": 3}]') AS m
                CROSS JOIN LATERAL missions.offer(m, \(person), actor => 'ann',
                    is_accepted => true, is_forced => true) AS o
                WHERE o.assignment_id IS NOT NULL;
                PERFORM missions.arrive(\(person), visit, -73.56, 45.5, 10);
                PERFORM missions.finish_step(\(person), visit, 1, '{"picture": "\(mark).jpg"}'),
                    missions.submit(\(person), visit, 'submit-\(mark)');
                PERFORM \(review);
            END $$
            """
    }

    static func words(
        _ person: Int, _ other: Int, _ mark: String, _ number: Int
    ) -> [String: String] {
        // A thread, and the mark of its person.
        let thread = """
            FROM (SELECT t.id, t.person_id, 'qx' || t.person_id || 'z' AS mark
                FROM inquiries.threads t ORDER BY t.id DESC OFFSET \(number % 5) LIMIT 1) AS o
            """
        return [
            "ask": """
            SELECT inquiries.ask(\(person), 'I am \(mark)', NULL, 'ask-\(mark)-\(number)')
            """,
            "say": """
            SELECT inquiries.say(o.id, o.person_id, 'It is ' || o.mark, o.mark || '-\(number)')
            \(thread)
            """,
            "answer": """
            SELECT inquiries.answer(o.id, 'ann', 'Dear ' || o.mark, o.mark || '-\(number)')
            \(thread)
            """,
            "close": "SELECT inquiries.close(o.id, 'friend of ' || o.mark) \(thread)",
            "alert": "SELECT inquiries.alert(now() + interval '5 hours')",
            "news": """
            SELECT news.start(news.draft('company.news', 'list', 'News \(number)', 'Summary',
                'Body', NULL, ARRAY[\(person), \(other)], 'ann'), 'ann')
            """,
            "terms": """
            SELECT news.start(news.draft('company.terms', 'list', 'Terms', 'Summary', 'Body',
                'v\(number)', ARRAY[\(person), \(other)], 'ann'), 'ann')
            """,
        ]
    }

    /// What must have happened to people who live, for the run to be worth something.
    static let used = """
        SELECT what FROM (VALUES
            ('a completion with a text', EXISTS (SELECT FROM surveys.completions c
                WHERE c.person_id IS NOT NULL AND c.answers::text LIKE '%qx%')),
            ('an open invitation', EXISTS (SELECT FROM surveys.invitations i
                WHERE i.state = 'open' AND i.source <> 'receipt')),
            ('a scan', EXISTS (SELECT FROM surveys.scan_days)),
            ('a verdict', EXISTS (SELECT FROM surveys.reviews r WHERE r.note LIKE '%qx%')),
            ('a sample', EXISTS (SELECT FROM surveys.reviews r WHERE r.flags <> '{}')),
            ('a webhook', EXISTS (SELECT FROM notification.events e
                WHERE e.kind = 'survey.completed' AND e.data::text LIKE '%qx%')),
            ('a badge', EXISTS (SELECT FROM badges.badges)),
            ('an area', EXISTS (SELECT FROM reports.postal_prefixes)),
            ('a picture', EXISTS (SELECT FROM missions.steps s
                WHERE s.content ? 'picture' OR s.content ? 'text')),
            ('faces', EXISTS (SELECT FROM missions.assignments a WHERE a.faces_tasks <> '{}')),
            ('a reason', EXISTS (SELECT FROM missions.assignments a
                WHERE a.state = 'rejected' AND a.reason LIKE '%qx%')),
            ('a question', EXISTS (SELECT FROM inquiries.messages m WHERE m.actor IS NULL)),
            ('an answer', EXISTS (SELECT FROM inquiries.messages m WHERE m.actor = 'ann')),
            ('an alert', EXISTS (SELECT FROM inquiries.messages m WHERE m.alerted_at IS NOT NULL)),
            ('a list', EXISTS (SELECT FROM news.recipients)),
            ('news that were sent', EXISTS (SELECT FROM notification.notices n
                WHERE n.dedupe_key LIKE 'company.terms:v%'))
        ) AS u (what, is_used) WHERE NOT is_used
        """

    /// The columns that name people in the modules that keep no person after the erasure; missions
    /// keep the ids of assignments, and the shopper that they refer to.
    static let columns = """
        SELECT format('%I.%I', n.nspname, c.relname), quote_ident(a.attname)
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND a.attname = 'person_id' AND NOT a.attisdropped
          AND n.nspname IN ('badges', 'surveys', 'reports', 'news', 'inquiries')
        """
}
