import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// Letting go of a lead, and staying who one is.
@Suite("Leadership and worker commands", .database) struct LeadershipTests {
    private func led(_ ground: RulesGround) async throws -> Int {
        try await ground.number("SELECT count(*) FROM errand.leaders l WHERE errand.is_led(l)")
    }

    private func signature(_ ground: RulesGround) async throws -> String {
        try await ground.session.query("SELECT role || ' ' || backend FROM errand.leaders")
            .text(0, 0)
    }

    @Test func `the role is free at once, whatever is still under way`() async throws {
        let ground = try await RulesGround()
        let leadership = LeadershipRole(.feeder)
        let session = ground.database.session("rules-lead")
        let loop = LeaderLoop(
            leadership: leadership, session: session, timeout: .seconds(30), log: .silent,
            interrupted: "interrupted", resolved: "resolved")
        let gate = Gate()
        let begun = Notebook<Int>()
        let leading = Task {
            await loop.run { _ in
                begun.add(1)
                // As a long statement of another session, which no cancellation ends.
                await Task.detached { try? await gate.pass() }.value
            }
        }
        try await eventually("it to lead") { begun.count == 1 }
        #expect(try await led(ground) == 1)
        leadership.resign(ifSigned: [try await signature(ground)])
        try await eventually("the role to be free") { try await led(ground) == 0 }
        leading.cancel()
        gate.open()
        await leading.value
    }

    @Test func `a worker that stops lets go of the lead before its maintenance has ended`()
        async throws
    {
        let ground = try await RulesGround()
        // The deletion of this row waits as that of very many rows does.
        try await ground.session.script(
            """
            INSERT INTO errand.demo_ledger (job_id, queue, at)
            VALUES (1, 'a', now() - interval '1 year');
            CREATE FUNCTION public.take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM pg_sleep(50);
                RETURN OLD;
            END $$;
            CREATE TRIGGER take_long BEFORE DELETE ON errand.demo_ledger
            FOR EACH ROW EXECUTE FUNCTION public.take_long();
            """)
        let sleeping = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event = 'PgSleep'
            """
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let worker = try TestWorker(kinds)
        _ = try await worker.during {
            try await eventually("the deletion to take long") {
                try await ground.number(sleeping) == 1
            }
            worker.stop.stop()
            try await eventually("the roles to be free") { try await led(ground) == 0 }
            #expect(try await ground.number(sleeping) == 1)
            _ = try await ground.session.query(
                """
                SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event = 'PgSleep'
                """)
        }
    }

    @Test func `what was asked of an earlier holder does not end the new lead`() async throws {
        let ground = try await RulesGround()
        let leadership = LeadershipRole(.scheduler)
        let first = ground.database.session("rules-lead")
        #expect(try await leadership.take(on: first, timeout: .seconds(30)))
        let stale = try await signature(ground)
        let second = ground.database.session("rules-lead")
        #expect(try await !leadership.isFree(on: second, timeout: .seconds(30)))
        #expect(try await !LeadershipRole(.scheduler).take(on: second, timeout: .seconds(30)))
        await first.close()
        try await eventually("the role to be free") {
            try await leadership.take(on: second, timeout: .seconds(30))
        }
        leadership.resign(ifSigned: [stale])
        let waiting = Task { try await leadership.resignation() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        leadership.resign(ifSigned: [try await signature(ground)])
        await #expect(throws: LeadershipRole.Resigned.self) { try await leadership.resignation() }
        await second.close()
    }

    @Test func `a worker that was declared dead comes back with its order`() async throws {
        let ground = try await RulesGround()
        try await ground.session.script(
            """
            CREATE TABLE public.arrived (id bigint, command text, command_by text, reason text);
            CREATE FUNCTION public.write_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO public.arrived VALUES (NEW.id, NEW.command, NEW.command_by,
                    NEW.command_reason);
                RETURN NULL;
            END $$;
            CREATE TRIGGER write_down AFTER INSERT ON errand.workers
            FOR EACH ROW EXECUTE FUNCTION public.write_down();
            """)
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        let worker = try TestWorker(kinds) { $0.leaseTime = .seconds(1) }
        _ = try await worker.during {
            try await eventually("it to lead") {
                try await ground.number("SELECT count(*) FROM errand.leaders") == 2
            }
            let id = Int64(try await ground.number("SELECT id FROM errand.workers"))
            let inspector = Inspector(session: ground.session)
            #expect(try await inspector.send([id], .quiet, by: "test", reason: "why") == [id])
            try await eventually("it to be quiet") {
                try await ground.number("SELECT count(*) FROM errand.workers WHERE quiet") == 1
            }
            _ = try await ground.session.query("DELETE FROM errand.workers")
            try await eventually("it to come back") {
                try await ground.number("SELECT count(*) FROM public.arrived") == 2
            }
            let back = try await ground.session.query(
                "SELECT id, command, command_by, reason FROM arrived ORDER BY id DESC LIMIT 1"
            )
            let row = try #require(back.first)
            #expect(try row.optionalText("command") == "quiet")
            #expect(try row.optionalText("command_by") == "test")
            #expect(try row.optionalText("reason") == "why")
            let new = try row.int64("id")
            #expect(
                try await ground.number(
                    "SELECT count(*) FROM errand.leaders WHERE worker = \(new)") == 2)
        }
    }
}
