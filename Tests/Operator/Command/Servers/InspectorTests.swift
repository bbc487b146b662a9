import Foundation
import ErrandTestServices
import Testing

/// Whoever looks after Errand at night may run every command that only looks.
@Suite("Inspector", .serialized, .database) struct InspectorTests {
    /// What a command needs to look at something that `RoleGround` has made.
    private static let arguments: [String: [String]] = [
        "job show": ["1"], "job why": ["1"], "queue show": ["default"],
        "kind show": ["demo.noop"], "schedule show": ["notification.wake"],
        "schedule history": ["notification.wake"], "schedule next": ["@hourly"],
        "badge ls": ["--person", "1"], "coupon show": ["1"],
        "coupon verify": ["x", "--establishment", "1", "--terminal", "t"],
        "notification show": ["1"], "notification trace": ["1"],
        "notification preview": ["payout.issued"],
        "reward show": ["1"], "ledger show": ["1"], "payout show": ["2026-Q3"],
        "payout voids": ["--since", "2026-01-01T00:00:00Z"], "vote show": ["1"],
        "vote exceptions": ["1"], "vote verify": ["--receipt", "v1.1.1.x"], "mission show": ["1"],
        "shopper show": ["1"], "household show": ["1"], "household chores": ["1"],
        "household feed": ["1"], "household stats": ["1"], "household balances": ["1"],
        "webhook show": ["1"], "op show": ["1"], "worker show": ["1"],
    ]

    /// Those that show, or look at, what an inspector must not see: codes worth money, names,
    /// addresses and tokens, where a shopper lives, and the sealed values themselves.
    private static let refused: [String: [String]] = [
        "coupon code": ["1"], "coupon qr": ["1"], "coupon epochs": [], "key ls": [],
        "payout payee": ["1"], "payout statement": ["1", "--year", "2026"],
        "mission explain": ["1", "1"],
        "notification why": ["--person", "1", "--kind", "payout.issued"],
        "notification devices": ["--person", "1"],
        // Addresses, of people and of others.
        "account codes": [], "account resets": [], "account invitations": [],
    ]

    /// Those that ask no server, or take very long.
    private static let others: Set<String> = [
        "mission simulate", "mission solve", "completion", "fields", "key new", "manual",
        "context ls", "context show",
    ]

    /// The commands that only look: those that can be repeated by `--watch`, and ask nothing.
    private func looks() async throws -> [String] {
        let script = try await errand("completion", "bash").output
        return script.split(separator: "\n").compactMap { line in
            guard line.contains("'--watch'"), !line.contains("'--yes'"),
                let name = line.split(separator: "'").dropFirst().first
            else { return nil }
            return String(name)
        }
    }

    @Test func `every command that looks works, but for those that show secrets`() async throws {
        let ground = try await RoleGround.shared
        let environment = ground.environment("errand_look")
        let looks = try await looks()
        #expect(looks.count > 60)
        var arguments = Self.arguments
        arguments["dead show"] = [try await dead()]
        for command in looks where !Self.others.contains(command) {
            let words = command.split(separator: " ").map(String.init)
            if let rest = Self.refused[command] {
                try await errand(words + rest, environment: environment)
                    .expect(5, "permission denied for")
                continue
            }
            let run = try await errand(
                words + (arguments[command] ?? []), environment: environment)
            #expect(!run.errors.contains("permission denied"), "\(command): \(run.errors)")
            #expect(![1, 5, 6].contains(run.code), "\(command): \(run.code) \(run.errors)")
        }
        for command in Self.refused.keys { #expect(looks.contains(command), "\(command)") }
    }

    @Test func `the doctor knows what a login is for, and asks no more of it`() async throws {
        let ground = try await RoleGround.shared
        for (login, words) in [
            ("errand_look", "this login has read-only access, through errand_inspector"),
            ("errand_tick", "this login may run schedules, through errand_scheduler"),
            ("errand_shop", "this login has the access of an app, through errand_app"),
            ("errand_register", "this login has the access of a till, through errand_till"),
            ("errand_scale", "this login may read the backlog, through errand_autoscaler"),
            ("errand_work", "this login has all privileges of a worker"),
            ("errand_owner", "this login has all privileges of a worker"),
        ] {
            let run = try await errand(
                "doctor", "--output", "json", environment: ground.environment(login))
            let findings = try run.records.filter { $0["check"] == "permissions" }
            #expect(findings.map { $0["message"] } == [.text(words)], "\(login): \(run.output)")
        }
    }

    /// The id of a new dead letter.
    private func dead() async throws -> String {
        let environment = try await RoleGround.shared.environment("errand_work")
        let words = ["--queue", "inspected", "--max-attempts", "1", "--output", "name"]
        let made = try await errand(
            ["enqueue", "demo.fail", #"{"times": 9}"#] + words, environment: environment)
        try await errand(
            ["work", "--drain", "--queues", "inspected"], environment: environment
        ).expect(0)
        return made.output.trimmingCharacters(in: .newlines)
    }

    @Test func `nothing can be changed, whether or not the session is read-only`() async throws {
        let ground = try await RoleGround.shared
        var environment = ground.environment("errand_look")
        // What roles.sql sets is a default that a client may override; the rights are not.
        environment["DATABASE_URL"] =
            ground.url("errand_look") + "&options=-c%20default_transaction_read_only%3Doff"
        for words in [
            ["enqueue", "demo.noop"], ["queue", "pause", "default", "--yes"],
            ["job", "cancel", "1", "--yes"], ["job", "run-now", "1", "--yes"],
            ["dead", "redrive", try await dead(), "--yes"], ["schedule", "tick"],
            ["schedule", "add", "x", "@hourly", "--kind", "demo.noop"], ["migrate"],
            ["coupon", "void", "1", "--reason", "x", "--yes"],
            ["household", "remind", "--from", "1", "--to", "2", "--yes"],
            ["vote", "erase", "1", "--yes"], ["mission", "lock", "1", "--yes"],
            ["work", "--drain"],
            ["notification", "show", "1", "--reveal", "--reason", "x"],
        ] {
            try await errand(words, environment: environment).expect(5)
        }
        for statement in [
            "UPDATE errand.jobs SET priority = 0", "SELECT errand.enqueue('a.b')",
            "DELETE FROM errand.finished_jobs", "INSERT INTO errand.audit DEFAULT VALUES",
            "SELECT email FROM people.people", "SELECT data FROM notification.notices",
            "SELECT keys FROM coupons.scramble", "SELECT * FROM votes.casts",
            "CREATE TEMP TABLE x (y int)",
        ] {
            #expect(try await ground.refusal("errand_look", statement) != nil, "\(statement)")
        }
    }
}
