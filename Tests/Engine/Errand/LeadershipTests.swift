import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// Letting go of a lead, and staying who one is.
@Suite("Leadership and worker commands", .database) struct LeadershipTests {
    private func locks(_ ground: RulesGround) async throws -> Int {
        try await ground.number(
            """
            SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """)
    }

    private func signature(_ ground: RulesGround) async throws -> String {
        try await ground.session.query("SELECT role || ' ' || backend FROM errand.leaders")
            .text(0, 0)
    }

    @Test func `the lock is free at once, whatever is still under way`() async throws {
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
        #expect(try await locks(ground) == 1)
        leadership.resign(ifSigned: [try await signature(ground)])
        try await eventually("the lock to be free") { try await locks(ground) == 0 }
        leading.cancel()
        gate.open()
        await leading.value
    }

    @Test func `what was asked of an earlier holder does not end the new lead`() async throws {
        let ground = try await RulesGround()
        let leadership = LeadershipRole(.scheduler)
        let first = ground.database.session("rules-lead")
        try await leadership.sign(on: first)
        let stale = try await signature(ground)
        let second = ground.database.session("rules-lead")
        try await leadership.sign(on: second)
        leadership.resign(ifSigned: [stale])
        let waiting = Task { try await leadership.resignation() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        leadership.resign(ifSigned: [try await signature(ground)])
        await #expect(throws: LeadershipRole.Resigned.self) { try await leadership.resignation() }
        await first.close()
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
