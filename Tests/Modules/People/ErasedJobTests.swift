import ErrandTestServices
import Testing

/// Jobs, their errors and the operators' log after an erasure.
@Suite("Jobs of erased people", .database) struct ErasedJobTests {
    private static let jobs = """
        INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until, outcome,
            priority, attempt, max_attempts, args_version, queue, kind, args, errors, reason, tags,
            unique_key)
        SELECT nextval('errand.jobs_id_seq'), now(), now(), now(), day, outcome::errand.job_outcome,
            2, 1, 1, 1, 'default', kind, args::jsonb, errors::jsonb, reason, tags::text[], key
        FROM (VALUES
            ('number', '{"person_id": 1, "longitude": -73.5}', NULL, NULL, NULL, NULL,
                (current_date + 3)::date, 'completed'),
            ('text', '{"userId": "1", "name": "Ann"}', '[{"error": "Ann"}]', 'Ann', '{Ann}',
                'Ann', 'infinity'::date, 'dead'),
            ('mail', '{"to": "PERSON1@example.org"}', '[{"error": "<person1@example.org>: no"}]',
                'to person1@example.org', '{a,person1@example.org}', 'm:person1@example.org',
                (current_date + 3)::date, 'completed'),
            ('other', '{"person_id": 11, "to": "person11@example.org"}', NULL, NULL, NULL, NULL,
                (current_date + 3)::date, 'completed'),
            ('list', '[1, "1"]', NULL, NULL, NULL, NULL, (current_date + 3)::date, 'completed')
        ) AS j (kind, args, errors, reason, tags, key, day, outcome);
        SELECT errand.enqueue_own('live', '{"person_id": 1, "name": "Ann"}');
        SELECT errand.enqueue_own('later', '{"person": "1"}', run_at => now() + interval '1 day');
        SELECT errand.enqueue_own('shared', '{"person_id": 1, "to": [2]}');
        SELECT errand.enqueue_own('others', '{"person_id": 2, "mail": "person1@example.org"}',
            unique_key => 'x:person1@example.org');
        INSERT INTO errand.audit (operator, action, subject, reason, change) VALUES
            ('eve', 'person show', 'person 1', 'Ann Smith asked', NULL),
            ('eve', 'job retry', 'job 7', 'for person1@example.org',
                '{"m": "person1@example.org"}'),
            ('eve', 'person show', 'person 11', 'Bob asked', NULL),
            ('eve', 'household remind', 'person 1 of a debt to person 12', 'Ann owes', NULL),
            ('eve', 'mission assign', 'mission 5 to person 1', 'for Ann', NULL),
            ('eve', 'household remind', 'person 11 of a debt to person 12', 'Bob owes', NULL)
        """

    // "Audit lines that name two things keep their reasons"
    @Test func `name the person nowhere, and those of others are as they were`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(Self.jobs)
        _ = try await ground.request(1)
        try await ground.work()
        for table in [
            "errand.jobs", "errand.finished_jobs", "errand.audit", "errand.unique_keys",
            "people.people", "people.erasures", "people.certificates",
        ] {
            #expect(
                try await ground.texts(
                    """
                    SELECT t::text FROM \(table) AS t
                    WHERE t::text ~* 'ann|person1@|73\\.5' AND t::text !~ 'cannot'
                    """) == [], "\(table)")
        }
        #expect(
            try await ground.texts(
                "SELECT kind FROM errand.jobs WHERE queue = 'default' ORDER BY kind")
                == ["others", "shared"])
        #expect(
            try await ground.texts(
                "SELECT args::text FROM errand.jobs WHERE kind = 'shared'")
                == [#"{"to": [2], "person_id": 1}"#])
        #expect(
            try await ground.texts(
                """
                SELECT args::text FROM errand.finished_jobs WHERE kind IN ('other', 'list', 'mail')
                ORDER BY kind
                """) == [
                    #"[1, "1"]"#, #"{"to": "[erased]"}"#,
                    #"{"to": "person11@example.org", "person_id": 11}"#,
                ])
        #expect(
            try await ground.texts(
                "SELECT reason FROM errand.audit WHERE subject LIKE 'person 11%' ORDER BY id")
                == ["Bob asked", "Bob owes"])
        #expect(
            try await ground.counts(1).filter { $0.hasPrefix("errand") } == [
                "errand.audit anonymized: 4", "errand.finished_jobs anonymized: 3",
                "errand.jobs anonymized: 1", "errand.jobs deleted: 2",
                "errand.unique_keys deleted: 1",
            ])
    }

    @Test func `one pass in small parts serves many people`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until,
                outcome, priority, attempt, max_attempts, args_version, queue, kind, args)
            SELECT nextval('errand.jobs_id_seq'), now(), now(), now(), current_date + 3,
                'completed', 2, 1, 1, 1, 'default', 'k', jsonb_build_object('person_id', n % 7)
            FROM generate_series(1, 70) AS n
            """)
        for person in 1...4 {
            _ = try await ground.request(person, id: "r\(person)")
            for _ in 1...3 {
                _ = try await ground.text("SELECT people.erase_step(\(person))")
            }
        }
        var parts = 0
        while try await ground.text("SELECT people.sweep_jobs(9)::text") == "true" { parts += 1 }
        #expect(parts > 8)
        #expect(try await ground.number("SELECT count(*) FROM people.job_sweeps") == 1)
        #expect(try await ground.number("SELECT count(*) FROM people.certificates") == 4)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.finished_jobs WHERE args ? 'erased'") == 40)
        #expect(
            try await ground.counts(3).first == "errand.finished_jobs anonymized: 10")
    }

    @Test func `erasures that lost their job get another one`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.request(1)
        try await ground.run(
            """
            DELETE FROM errand.jobs;
            UPDATE people.erasures SET starts_at = now() - interval '2 hours'
            """)
        #expect(try await ground.number("SELECT people.enqueue_late()") == 1)
        #expect(try await ground.number("SELECT people.enqueue_late()") == 1)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE kind = 'people.erase'") == 1)
        try await ground.work()
        #expect(try await ground.request(1) == "finished")
    }
}
