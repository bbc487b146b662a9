import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// Each role of `deploy/postgres` does its work with the real program, and is refused the rest.
@Suite("Roles", .serialized, .database) struct RoleTests {
    private static let queues =
        "default,people,coupons,votes,ledger,payouts,notices,missions,surveys,reports,news,"
        + "household,notification,operator"

    /// What a login runs; a command that is refused ends with 5.
    private func run(_ login: String, _ words: String...) async throws -> Run {
        try await errand(words, environment: try await RoleGround.shared.environment(login))
    }

    private func expectRefusals(_ login: String, _ statements: [String]) async throws {
        let ground = try await RoleGround.shared
        for statement in statements {
            #expect(try await ground.refusal(login, statement) == "42501", "\(login): \(statement)")
        }
    }

    @Test func `a worker runs the jobs of every domain, and those of every schedule`() async throws
    {
        let ground = try await RoleGround.shared
        let drain = ["work", "--drain", "--queues", Self.queues]
        // The first one declares kinds and schedules.
        try await errand(drain, environment: ground.environment("errand_work")).expect(0)
        let names = try await ground.list(
            "SELECT name FROM errand.schedules WHERE paused_at IS NULL")
        #expect(names.count >= 12)
        for name in names {
            try await run("errand_work", "schedule", "trigger", name, "--yes").expect(0)
        }
        try await errand(drain, environment: ground.environment("errand_work")).expect(0)
        let denied = try await ground.list(
            """
            SELECT kind || ': ' || (errors -> -1 ->> 'error') FROM (
                SELECT kind, errors FROM errand.jobs
                UNION ALL SELECT kind, errors FROM errand.finished_jobs
                UNION ALL SELECT kind, errors FROM errand.dead_jobs) AS j
            WHERE errors::text ~ 'permission denied|may not do|42501|does not exist'
            """)
        #expect(denied == [])
        let done = Set(
            try await ground.list(
                "SELECT DISTINCT kind FROM errand.finished_jobs WHERE outcome = 'completed'"))
        for domain in [
            "demo", "notification", "badges", "coupons", "ledger", "payouts", "votes", "missions",
            "household",
        ] {
            #expect(done.contains { $0.hasPrefix(domain + ".") }, "\(domain): \(done)")
        }
        // A preview of what the close of the same moment has closed is refused, and that is right.
        let dead = try await ground.list(
            "SELECT DISTINCT kind FROM errand.dead_jobs WHERE queue !~ '^attack'")
        #expect(Set(dead).subtracting(["demo.fail", "payouts.preview"]) == [])
    }

    @Test func `the worker's partitions are made and dropped by functions of the owner`()
        async throws
    {
        let ground = try await RoleGround.shared
        let session = ground.session("errand_work")
        for day in ["2031-01-01", "2031-01-02"] {
            let made = try await session.query("SELECT errand.create_finished_day('\(day)')")
            #expect(try made.bool(0, 0))
        }
        let dropped = try await session.query("SELECT errand.drop_expired_day('2000-01-01')")
        #expect(try dropped[0].optionalText(0) == nil)
        await session.close()
        #expect(
            try await ground.list(
                """
                SELECT pg_get_userbyid(relowner)::text FROM pg_class
                WHERE relname = 'finished_jobs_20310101'
                """) == ["errand_owner"])
    }

    @Test func `a worker changes neither schema nor settings nor what is only added to`()
        async throws
    {
        try await expectRefusals(
            "errand_work",
            [
                "CREATE TABLE errand.mine (x int)", "CREATE TABLE public.mine (x int)",
                "DROP TABLE errand.demo_ledger", "TRUNCATE errand.jobs",
                "ALTER TABLE errand.jobs ADD x int", "UPDATE errand.instance SET id = id",
                "UPDATE payouts.rules SET minimum = minimum", "DELETE FROM votes.rules",
                "UPDATE ledger.postings SET amount = 1", "DELETE FROM errand.audit",
                "UPDATE votes.ballots SET choice = '{2}'",
                "SELECT sealed FROM payouts.bank_details",
                "SELECT sealed FROM payouts.items", "DELETE FROM payouts.bank_details",
                "SELECT payouts.approve(1, 'x', 'x', true)", "SELECT payouts.void(1, 'x', 'x')",
                "SELECT household.create_group(9, 'x', 'UTC')",
                "SELECT * FROM coupons.code(1, 1)", "DELETE FROM errand.migrations",
                "DELETE FROM errand.modules",
                "COPY (SELECT 1) TO PROGRAM 'true'", "SET ROLE errand_owner",
            ])
        try await run("errand_work", "payout", "rules", "--minimum", "2.00", "--yes").expect(5)
        try await run("errand_work", "migrate").expect(0, "nothing to do")
    }

    @Test func `a scheduler makes the jobs of schedules, and does nothing else`() async throws {
        let ground = try await RoleGround.shared
        for (name, overlap) in [("role.allow", "allow"), ("role.skip", "skip")] {
            try await run(
                "errand_owner", "schedule", "add", name, "@every 1s", "--kind", "demo.noop",
                "--overlap", overlap
            ).expect(0)
        }
        try await eventually("both are due") {
            try await run("errand_tick", "schedule", "tick").expect(0)
            return try await ground.list(
                "SELECT name FROM errand.schedules WHERE name ~ '^role' AND runs > 1") != []
        }
        let program = try start(
            ["schedule", "run"], environment: ground.environment("errand_tick"))
        try await eventually("the scheduler leads") {
            program.errors.contains("running schedules with")
        }
        program.signal(SIGTERM)
        #expect(try await program.end(within: .seconds(30)) == .exited(0))
        #expect(!program.errors.contains("permission denied"), "\(program.errors)")
        for name in ["role.allow", "role.skip"] {
            try await run("errand_owner", "schedule", "rm", name, "--yes").expect(0)
        }
        try await expectRefusals(
            "errand_tick",
            [
                "DELETE FROM errand.jobs", "UPDATE errand.jobs SET args = '{}'",
                "SELECT * FROM people.people", "DELETE FROM errand.schedules",
                "SELECT * FROM errand.audit", "SELECT errand.enqueue('demo.noop')",
                "INSERT INTO errand.workers DEFAULT VALUES", "SELECT * FROM coupons.coupons",
            ])
        try await run("errand_tick", "work", "--drain").expect(5)
        try await run("errand_tick", "queue", "pause", "default").expect(5)
    }

    @Test func `app servers enqueue and tell by functions, and read no table of others`()
        async throws
    {
        let ground = try await RoleGround.shared
        _ = try await ground.list(
            """
            INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts, for_apps)
            VALUES ('shop.receipt', 1, 'shop', 2, 20, true) RETURNING kind
            """)
        let session = ground.session("errand_shop")
        for statement in [
            "SELECT errand.enqueue('shop.receipt', '{\"order\": 1}', unique_key => 'order:1')",
            "SELECT errand.enqueue('shop.receipt', '{\"order\": 2}', unique_key => 'order:1', "
                + "on_duplicate => 'replace', delay => '1 hour', queue => 'shop')",
            "SELECT people.put_person(100, '{\"email\": \"a@example.com\"}')",
            "SELECT notification.set_preference(100, 'coupon.nearby', 'push', false)",
            "SELECT * FROM notification.preferences_of(100)",
            "SELECT notification.register_device(100, 'survey', 'fcm', 'token-100')",
            "SELECT notification.unregister_device(100, 'fcm', 'token-100')",
            "SELECT notification.intend('mission.hired', 100, 's:1', '{}', 's:1', "
                + "now() + interval '1 day')",
            "SELECT * FROM notification.inbox(100)", "SELECT notification.mark_read(100, '{1}')",
            "SELECT notification.unsubscribe(gen_random_uuid(), '*')",
            "SELECT notification.emit('shop.opened', 'establishment:1', '{}', 'o:1')",
            "SELECT establishments.put_establishment(id => 70, name => 'Other')",
            "SELECT * FROM ledger.reward_balance(1)", "SELECT * FROM household.my_group(1)",
        ] { _ = try await session.query(statement) }
        await session.close()
        try await expectRefusals(
            "errand_shop",
            [
                "SELECT * FROM errand.jobs", "SELECT args FROM errand.jobs",
                "UPDATE errand.jobs SET args = '{}'", "DELETE FROM errand.jobs",
                "INSERT INTO errand.jobs (kind, queue) VALUES ('shop.receipt', 'shop')",
                "INSERT INTO errand.queues (name) VALUES ('shop')",
                "SELECT email FROM people.people", "SELECT * FROM notification.notices",
                "SELECT * FROM notification.preferences", "SELECT * FROM notification.secrets",
                "INSERT INTO notification.preferences VALUES (100, '*', 'push', false)",
                "SELECT notification.erase(100)", "SELECT notification.personal_data(100)",
                "UPDATE people.people SET email_bounces = '{}'",
                "INSERT INTO people.people (id) VALUES (101)",
                "INSERT INTO establishments.establishments (name) VALUES ('Other')",
                "SELECT * FROM errand.finished_jobs", "SELECT * FROM ledger.postings",
                "SELECT errand.drop_expired_day('9999-01-01')",
                "SELECT errand.put_schedule('x', '{}', 'x')",
                "SELECT * FROM coupons.redeem('x', 1, "
                    + "'t', 'r')",
            ])
        try await expectRefusals(
            "errand_register",
            ["SELECT errand.enqueue('a.b')", "SELECT * FROM coupons.listing(1)"])
        #expect(
            try await ground.refusal(
                "errand_register", "SELECT * FROM coupons.verify('x', 1, 't')") == nil)
    }

    @Test func `an autoscaler reads one view`() async throws {
        let ground = try await RoleGround.shared
        _ = try await ground.list("SELECT errand.enqueue('demo.slow', queue => 'scaled')::text")
        _ = try await ground.list(
            "SELECT errand.enqueue('demo.slow', queue => 'scaled', delay => '1 day')::text")
        let session = ground.session("errand_scale")
        let query = "SELECT * FROM errand.queue_depth WHERE queue = 'scaled'"
        let rows = try await session.query(query)
        #expect(try rows.int64(0, 1) == 1 && rows.int64(0, 2) == 0)
        #expect(try rows.double(0, 3) > 0)
        try await run("errand_owner", "queue", "pause", "scaled", "--yes").expect(0)
        let paused = try await session.query(query)
        #expect(try paused.int64(0, 1) == 0 && paused.double(0, 3) == 0)
        await session.close()
        try await expectRefusals(
            "errand_scale",
            [
                "SELECT * FROM errand.jobs", "SELECT * FROM errand.queues",
                "SELECT * FROM errand.workers", "SELECT errand.enqueue('a.b')",
                "SELECT * FROM errand.migrations", "SELECT * FROM ledger.balances",
            ])
        // A login of its own cannot write at all, whatever it is granted later.
        #expect(try await ground.refusal("errand_scale", "CREATE TEMP TABLE x (y int)") != nil)
    }
}
