import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// What the login of an autoscaler, which may read one view, can stop by notifications and locks.
@Suite("Attacks: notifications and locks", .serialized, .database) struct SignalAttackTests {
    @Test func `a notification cancels no job and ends no worker`() async throws {
        let ground = try await RoleGround.shared
        let job = try await ground.list(
            """
            SELECT errand.enqueue('demo.sleep', '{"ms": 6000}', queue => 'attack.signal')::text
            """)[0]
        let worker = try start(
            // A short lease for frequent heartbeats.
            ["work", "--queues", "attack.signal", "--lease", "2s"],
            environment: ground.environment("errand_work"))
        try await eventually("the job to run") {
            try await ground.list(
                "SELECT id::text FROM errand.workers WHERE \(job) = ANY (running)") != []
        }
        let id = try await ground.list(
            "SELECT id::text FROM errand.workers WHERE \(job) = ANY (running)")[0]
        let attacker = ground.session("errand_scale")
        for payload in [
            "cancel \(id) \(job)", "cancel \(id)", "worker \(id)", "beat \(id)", "stop \(id)",
            "quiet \(id)", "resign feeder", "resign scheduler",
            "queues", "cancel", "", "cancel 99999999999999999999",
            String(repeating: "x", count: 7_000),
        ] {
            for channel in ["errand_control", "errand_ready", "errand_schedules"] {
                _ = try await attacker.query(
                    "SELECT pg_notify($1, $2)", [.text(channel), .text(payload)])
            }
        }
        await attacker.close()
        try await eventually("the job to end") {
            try await ground.list("SELECT 'x' FROM errand.jobs WHERE id = \(job)") == []
        }
        #expect(
            try await ground.list(
                "SELECT outcome::text FROM errand.finished_jobs WHERE id = \(job)")
                == ["completed"])
        // Nor has one stopped it, or made it quiet.
        let next = try await ground.list(
            "SELECT errand.enqueue('demo.noop', queue => 'attack.signal')::text")[0]
        try await eventually("the worker to go on") {
            try await ground.list(
                "SELECT outcome::text FROM errand.finished_jobs WHERE id = \(next)")
                == ["completed"]
        }
        worker.signal(SIGTERM)
        #expect(try await worker.end(within: .seconds(30)) == .exited(0))
    }

    @Test func `no advisory lock keeps jobs from running`() async throws {
        let ground = try await RoleGround.shared
        let attacker = ground.session("errand_scale")
        // What leads, limits and operations were once held by.
        for key in [0x65_72_72_61_6e_64, 0x73_63_68_65_64_75_6c_65, 7_596_553_775_040_557_427] {
            _ = try await attacker.query(
                "SELECT pg_advisory_lock($1)", [.int64(Int64(key))])
        }
        let job = try await ground.list(
            "SELECT errand.enqueue('demo.noop', queue => 'attack.locks')::text")[0]
        try await errand(
            ["work", "--drain", "--queues", "attack.locks"],
            environment: ground.environment("errand_work")
        ).expect(0)
        #expect(
            try await ground.list(
                "SELECT outcome::text FROM errand.finished_jobs WHERE id = \(job)")
                == ["completed"])
        try await errand(
            ["queue", "limit", "attack.locks", "--rate", "9/s", "--yes"],
            environment: ground.environment("errand_owner")
        ).expect(0)
        // By NOTIFY or the look at all lanes alone: somebody has to lead.
        let worker = try start(
            ["work", "--queues", "attack.*"], environment: ground.environment("errand_work"))
        try await eventually("both roles to be held") {
            try await ground.list(
                "SELECT role FROM errand.leaders l WHERE errand.is_led(l) ORDER BY role")
                == ["feeder", "scheduler"]
        }
        worker.signal(SIGTERM)
        #expect(try await worker.end(within: .seconds(30)) == .exited(0))
        await attacker.close()
    }

    @Test func `nobody else takes a role`() async throws {
        let ground = try await RoleGround.shared
        let take = """
            INSERT INTO errand.leaders (role, host, pid, backend, backend_started)
            SELECT 'feeder', 'x', 1, pid, backend_start FROM pg_stat_activity
            WHERE pid = pg_backend_pid()
            ON CONFLICT (role) DO UPDATE SET backend = excluded.backend
            """
        for login in [
            "errand_tick", "errand_shop", "errand_register", "errand_look", "errand_scale",
        ] {
            #expect(try await ground.refusal(login, take) == "42501", "\(login)")
            // Each worker reads who leads.
            let lock = "DO $$ BEGIN LOCK TABLE errand.leaders IN ACCESS EXCLUSIVE MODE; END $$"
            #expect(try await ground.refusal(login, lock) == "42501", "\(login)")
        }
        #expect(
            try await ground.refusal("errand_shop", "SELECT * FROM errand.operations FOR UPDATE")
                == "42501")
    }

    @Test func `who holds the lock of migrations is named`() async throws {
        let ground = try await RoleGround.shared
        let attacker = ground.session("errand_scale")
        _ = try await attacker.query(
            "SELECT pg_advisory_lock($1)", [.int64(0x65_72_72_61_6e_64_6d)])
        var environment = ground.environment("errand_owner")
        environment["PGOPTIONS"] = "-c lock_timeout=200ms"
        let run = try await errand(["migrate"], environment: environment)
        #expect(run.code != 0)
        #expect(run.errors.contains("of errand_scale"), "\(run.errors)")
        let doctor = try await errand(["doctor"], environment: ground.environment("errand_owner"))
        #expect(
            doctor.output.contains(
                /session \d+ of errand_scale .* holds the lock of migrations/),
            "\(doctor.output)")
        await attacker.close()
    }
}
