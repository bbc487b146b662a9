import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

@Suite("Figures of reports", .database) struct FigureTests {
    /// All that the oracle needs, as it is in the tables.
    private static let world = """
        SELECT jsonb_build_object(
            'from', extract(epoch FROM r.from_at), 'until', extract(epoch FROM r.until_at),
            'branches', (SELECT jsonb_agg(b.id ORDER BY b.id) FROM establishments.branches b
                WHERE b.establishment_id = 7),
            'sharing', (SELECT jsonb_agg(person_id) FROM people.consents WHERE what = 'sharing'
                AND withdrawn_at IS NULL AND replaced_at IS NULL),
            'blocked', (SELECT coalesce(jsonb_agg(id), '[]') FROM people.people
                WHERE blocked_at IS NOT NULL),
            'questions', (SELECT jsonb_agg(jsonb_build_object('survey', q.survey_id, 'version',
                q.version, 'number', q.number, 'kind', q.kind, 'options', q.options))
                FROM surveys.questions q),
            'invitations', (SELECT jsonb_agg(jsonb_build_object('person', i.person_id, 'branch',
                i.branch_id, 'invited', extract(epoch FROM i.invited_at), 'expires',
                extract(epoch FROM i.expires_at), 'state', i.state))
                FROM surveys.invitations i WHERE i.establishment_id = 7),
            'completions', (SELECT jsonb_agg(jsonb_build_object('person', c.person_id, 'branch',
                c.branch_id, 'survey', c.survey_id, 'version', c.version, 'at',
                extract(epoch FROM c.completed_at), 'seconds', c.seconds_spent, 'state', c.state,
                'answers', c.answers)) FROM surveys.completions c WHERE c.establishment_id = 7))
        FROM reports.reports r WHERE r.id = $1
        """

    /// Random invitations and answers over three months, of two versions, three branches and none.
    private static func random(seed: UInt64) -> String {
        """
        SELECT setseed(\(Double(seed) / 100));
        INSERT INTO surveys.versions (survey_id, version, title, minutes, expires_days, paid, cut,
            currency) VALUES (12, 2, 'How was it now?', 5, 30, 500, 300, 'CAD');
        INSERT INTO surveys.questions VALUES (12, 2, 1, 'yes_no', 'Overall?', NULL, true),
            (12, 2, 7, 'rating', 'Staff?', NULL, false);
        SELECT establishments.put_branch(5, 7, 'Nobody', -73.5, 45.5);
        UPDATE people.people SET blocked_at = now() WHERE id % 17 = 0;
        UPDATE people.consents SET withdrawn_at = now() WHERE person_id % 11 = 0;
        INSERT INTO surveys.invitations (survey_id, version, establishment_id, branch_id, person_id,
            source, purchased_at, invited_at, expires_at, state)
        SELECT 12, version, 7, (ARRAY[3, 4, NULL])[1 + floor(random() * 3)::int],
            CASE WHEN random() > 0.05 THEN 1 + floor(random() * 300) END, 'receipt', t, t,
            t + interval '1 day' * (CASE version WHEN 1 THEN 14 ELSE 30 END * random()),
            (ARRAY['open', 'completed', 'completed', 'expired', 'withdrawn'])
                [1 + floor(random() * 5)::int]::surveys.invitation_state
        FROM (SELECT n, 1 + (random() > 0.6)::int AS version,
            timestamptz '2026-09-01 04:00Z' + random() * interval '90 days' AS t
            FROM generate_series(1, 900) AS n) AS x;
        INSERT INTO surveys.completions (invitation_id, survey_id, version, establishment_id,
            branch_id, person_id, completed_at, seconds_spent, answers, state)
        SELECT i.id, 12, i.version, 7, i.branch_id, i.person_id,
            i.invited_at + random() * (i.expires_at - i.invited_at), floor(random() * 900),
            CASE i.version WHEN 1 THEN jsonb_strip_nulls(jsonb_build_object(
                '1', 1 + floor(random() * 5)::int,
                '2', CASE WHEN random() > 0.3 THEN 1 + floor(random() * 3)::int END,
                '3', CASE WHEN random() > 0.3 THEN (SELECT coalesce(jsonb_agg(k), '[]')
                    FROM generate_series(1, 4) AS k WHERE random() > 0.5 AND i.id > 0) END,
                '4', random() > 0.4, '5', CASE WHEN random() > 0.5 THEN 'fine' END))
            ELSE jsonb_build_object('1', random() > 0.1, '7', 1 + floor(random() * 4)::int) END,
            (ARRAY['counted', 'counted', 'review', 'rejected'])[1 + floor(random() * 4)::int]
        FROM surveys.invitations i WHERE i.state = 'completed';
        """
    }

    /// The figures of a CSV in the form of the oracle.
    private static func lines(_ records: [[String: String]]) -> Set<String> {
        Set(
            records.filter { ["summary", "answer"].contains($0["section"]) }.map { record in
                [
                    "section", "branch_id", "survey_id", "version", "question", "item", "measure",
                    "value",
                ].map { record[$0] ?? "" }.joined(separator: "|")
            })
    }

    @Test("are those of an independent oracle", arguments: [1, 2, 3, 4] as [UInt64])
    func oracle(seed: UInt64) async throws {
        let python = try #require(
            ProcessInfo.processInfo.environment["ERRAND_ORACLES"],
            "set it to what 'scripts/oracles' prints")
        try await withReports { ground in
            try await ground.people(300)
            try await ground.session.script(Self.random(seed: seed))
            for (kind, period) in [
                ("monthly", "2026-09"), ("monthly", "2026-10"), ("monthly", "2026-11"),
                ("weekly", "2026-W40"), ("weekly", "2026-W44"), ("weekly", "2026-W45"),
            ] {
                let report = try await ground.open(kind, period)
                let found = Self.lines(try await ground.csv(kind, period))
                let world = try await ground.session.query(Self.world, [.int64(report)])
                    .json(0, 0)
                let program = try Program(
                    "/usr/bin/env",
                    [
                        python,
                        Checkout.simulators.appending(path: "oracles/report_oracle.py").path,
                    ],
                    input: String(decoding: world, as: UTF8.self))
                let end = try await program.end(within: .seconds(60))
                #expect(end == .exited(0), "\(program.errors.suffix(2_000))")
                let expected = Set(program.output.split(separator: "\n").map(String.init))
                #expect(found.count > 10)
                #expect(found.subtracting(expected).sorted() == [], "\(kind) \(period)")
                #expect(expected.subtracting(found).sorted() == [], "\(kind) \(period)")
            }
        }
    }

    @Test func `who does not share, was rejected or is blocked is in none`() async throws {
        try await withReports { ground in
            try await ground.people(6)
            for person in 1...6 {
                try await ground.complete(
                    person, #"{"1": 1, "4": false, "5": "word\#(person)"}"#,
                    state: person == 6 ? "rejected" : person == 5 ? "review" : "counted")
            }
            try await ground.session.script(
                """
                SELECT people.withdraw_consent(2, 'sharing');
                UPDATE people.people SET blocked_at = now() WHERE id = 3;
                DELETE FROM people.consents WHERE person_id = 4;
                """)
            let records = try await ground.csv()
            #expect(ReportGround.value(records, "summary", "completed") == "2")
            #expect(ReportGround.value(records, "summary", "given") == "3")
            let words = records.filter { $0["section"] == "text" }.compactMap { $0["text"] }
            #expect(words == ["word1", "word5"])
            #expect(ReportGround.value(records, "answer", "answered", question: "1") == "2")
        }
    }

    @Test func `an empty period is said`() async throws {
        try await withReports { ground in
            let records = try await ground.csv()
            #expect(records.contains { $0["measure"] == "is_empty" && $0["text"] == "true" })
            #expect(ReportGround.value(records, "summary", "given") == "0")
            #expect(ReportGround.value(records, "summary", "completion_rate") == nil)
            let report = try await ground.open()
            let text = try await ground.pdfText("report.pdf", report)
            #expect(text.contains("In this period no survey was given"))
        }
    }

    @Test func `an open invitation is expired by the clock, not by the sweep`() async throws {
        try await withReports { ground in
            try await ground.people(3)
            for (person, expires) in [
                (1, "2026-10-31 23:59:59-04"), (2, "2026-11-01 00:00:00-04"),
                (3, "2026-10-01 00:00:00-04"),
            ] {
                _ = try await ground.session.query(
                    """
                    INSERT INTO surveys.invitations (survey_id, version, establishment_id,
                        branch_id, person_id, source, purchased_at, invited_at, expires_at)
                    VALUES (12, 1, 7, 3, $1, 'receipt', 
                        timestamptz '\(expires)' - interval '14 days',
                        timestamptz '\(expires)' - interval '14 days', '\(expires)')
                    """, [.int64(Int64(person))])
            }
            let records = try await ground.csv()
            #expect(ReportGround.value(records, "summary", "expired") == "2")
            #expect(ReportGround.value(records, "summary", "completion_rate") == "0")
        }
    }

    @Test func `coupons, notices near by and missions are counted`() async throws {
        try await withReports { ground in
            try await ground.people(4)
            try await ground.session.script(
                """
                INSERT INTO coupons.coupons (id, person_id, establishment_id, title, valid_from,
                    expires_at, redeemed_at, voided_at) VALUES
                    (1, 1, 7, 'a', '2026-10-02Z', '2026-10-20Z', NULL, NULL),
                    (2, 1, 7, 'b', '2026-09-02Z', '2026-11-20Z', '2026-10-05Z', NULL),
                    (3, 2, 7, 'c', '2026-10-02Z', '2026-12-20Z', NULL, '2026-10-03Z'),
                    (4, 3, 7, 'd', '2026-11-02Z', '2026-12-20Z', NULL, NULL);
                INSERT INTO notification.notices (person_id, kind, subject, dedupe_key, expires_at,
                    status, urgency, send_decided_at) VALUES
                    (1, 'coupon.nearby', 'coupon:1', 'n1', '2026-10-20Z', 'sent', 'promotional',
                        '2026-10-04Z'),
                    (1, 'coupon.nearby', 'coupon:2', 'n2', '2026-10-20Z', 'dropped', 'promotional',
                        '2026-10-04Z'),
                    (1, 'coupon.nearby', 'coupon:2', 'n3', '2026-10-20Z', 'sent', 'promotional',
                        '2026-11-04Z');
                INSERT INTO missions.shoppers (person_id, state_since, state, reviewed, good,
                    quality)
                VALUES (1, now(), 'active', 20, 20, 0.9);
                INSERT INTO missions.missions (id, branch_id, establishment_id, opens_at, closes_at,
                    first_day, due_day, paid, pay, rest_days, time_zone, title, place)
                SELECT 1, 3, 7, '2026-10-01Z', '2026-10-30Z', '2026-10-01', '2026-10-30', 5000,
                    3000, 0, 'America/Toronto', 'Buy a coffee', b.place
                FROM establishments.branches b WHERE b.id = 3;
                INSERT INTO missions.tasks (mission_id, number, kind, title) VALUES
                    (1, 1, 'photos', 'The counter'), (1, 2, 'survey', 'Was it clean?'),
                    (1, 3, 'report', 'Report');
                INSERT INTO missions.assignments (id, mission_id, person_id, branch_id, offered_at,
                    answer_by, due_at, arrived_at, ended_at, due_day, barred, payment_id, slot,
                    state)
                OVERRIDING SYSTEM VALUE
                VALUES (1, 1, 1, 3, '2026-10-02Z', '2026-10-03Z', '2026-10-30Z', '2026-10-05Z',
                    '2026-10-06Z', '2026-10-30', 'empty', 1, 1, 'paid');
                INSERT INTO missions.steps VALUES
                    (1, '2026-10-05Z', 1, '{"photos": ["s3://bucket/face.jpg"]}'),
                    (1, '2026-10-05Z', 2, '{"clean": true, "note": "call 514 555 0199"}'),
                    (1, '2026-10-05Z', 3, '{"text": "Mrs Ann Lee served me"}');
                """)
            let records = try await ground.csv()
            #expect(ReportGround.value(records, "coupons", "granted") == "2")
            #expect(ReportGround.value(records, "coupons", "redeemed") == "1")
            #expect(ReportGround.value(records, "coupons", "expired") == "1")
            #expect(ReportGround.value(records, "coupons", "near_notices") == "1")
            #expect(ReportGround.value(records, "missions", "approved") == "1")
            let answers = records.filter { $0["section"] == "mission_answer" }
            #expect(answers.map { $0["label"] } == ["The counter", "Was it clean?", "Report"])
            #expect(answers.map { $0["text"] } == ["", "call […] | yes", "Mrs […] served me"])
        }
    }
}
