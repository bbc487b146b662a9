import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// No row ends a worker: all kinds with extreme arguments and options, through a real worker.
@Suite("Attacks: extreme rows", .serialized, .database) struct ExtremeArgumentsTests {
    /// The arguments of all kinds, by name: decoding ignores those that a kind does not have.
    private static let numbers = [
        "group_id", "number", "person_id", "invitation_id", "chore_id", "occurrence_id",
        "instead_of", "bill_id", "payer_id", "payment_id", "note_id", "delivery_id", "notice_id",
        "coupon_id", "run_id", "vote_id", "mission_id", "assignment_id", "step", "ms", "times",
        "report_id", "sending_id", "establishment_id", "level",
    ]
    private static let smallNumbers = ["plan", "revision", "chunk"]
    private static let lists = ["occurrence_ids", "to", "group_ids", "payouts"]
    private static let texts = ["session", "month_end", "time_zone", "quarter"]
    private static let events = [
        "held", "issued", "returned", "offered", "agreed", "waiting", "reminder", "unfinished",
        "withdrawn", "paid", "rejected", "missed", "hired", "suspended", "dismissed",
        "bill_added", "payment", "nobody",
    ]

    private static func arguments(
        _ number: String, small: String, text: String, at: String, event: String
    ) -> String {
        let fields =
            numbers.map { "\"\($0)\": \(number)" } + smallNumbers.map { "\"\($0)\": \(small)" }
            + lists.map { "\"\($0)\": [\(number), 0, \(number)]" }
            + texts.map { "\"\($0)\": \"\(text)\"" }
            + [
                "\"event\": \"\(event)\"", "\"at\": \"\(at)\"", "\"longitude\": 1e308",
                "\"latitude\": -1e308", "\"accuracy_m\": 1e-308",
            ]
        return "{\(fields.joined(separator: ", "))}"
    }

    private static let shapes = [
        ("9223372036854775807", "2147483647", "9999-12-31", "9999-12-31T23:59:59Z"),
        ("-9223372036854775808", "-2147483648", "-1", "0001-01-01T00:00:00Z"),
        ("0", "0", "", "2026-11-24T00:00:00Z"), ("-1", "-1", "%", "1970-01-01T00:00:00Z"),
        ("1", "1", "../../etc/passwd", "2000-02-29T23:59:60Z"),
    ]

    /// Every shape once, and every event once.
    private static let variants = (0..<max(shapes.count, events.count)).map { place in
        let shape = shapes[place % shapes.count]
        return arguments(
            shape.0, small: shape.1, text: shape.2, at: shape.3,
            event: events[place % events.count])
    }

    private static let options = [
        #"{"timeout_ms": 50, "backoff": {"base": 1e300, "factor": 2, "ceiling": 1e300, "#
            + #""jitter": 0}}"#,
        #"{"timeout_ms": 50, "backoff": {"base": -1e300, "factor": -1, "ceiling": -5, "#
            + #""jitter": 5}}"#,
        #"{"timeout_ms": 50, "backoff": {"base": 1, "factor": 1e308, "ceiling": 1e308, "#
            + #""jitter": -5}}"#,
        #"{"timeout_ms": 9223372036854775807, "retention_s": 9223372036854775807}"#,
        #"{"timeout_ms": -9223372036854775808, "retention_s": -9223372036854775808}"#,
        #"{"timeout_ms": 1e400, "backoff": {}, "occurrence": {}, "origin": 3}"#,
    ]

    @Test(.timeLimit(.minutes(5)))
    func `extreme arguments and options of every kind leave the worker alive`() async throws {
        let ground = try await RoleGround.shared
        // Only a worker with channels runs the jobs of push and mail, and with a folder reports.
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: folder.path)
        let environment = Channels.all(try await PushCredentials.shared)
            .merging(ground.environment("errand_work")) { $1 }
            .merging(["ERRAND_REPORTS_DIR": folder.appending(path: "reports").path]) { $1 }
        let drain = ["work", "--drain", "--no-schedules", "--queues", "attack.extremes:8"]
        try await errand(drain, environment: environment).expect(0)
        let kinds = try await ground.list("SELECT kind FROM errand.kinds ORDER BY kind")
        #expect(kinds.count > 30)
        let session = ground.session("errand_work")
        for options in Self.options {
            // The sleepers need a short limit.
            let sleeps = options.contains(": 50")
            _ = try await session.query(
                """
                INSERT INTO errand.jobs (queue, kind, args_version, max_attempts, args, options)
                SELECT 'attack.extremes', k.kind, k.args_version, 2, a.args::jsonb, $3::text::jsonb
                FROM errand.kinds k, unnest($1::text[]) WITH ORDINALITY AS a (args, n)
                WHERE k.kind <> 'shop.receipt' AND (k.kind <> 'demo.sleep' OR $2)
                  -- Only these have events.
                  AND (a.n <= $4 OR k.kind LIKE '%.notify')
                """,
                [
                    .textArray(options == Self.options[0] ? Self.variants : [Self.variants[0]]),
                    .bool(sleeps), .text(options), .int32(Int32(Self.shapes.count)),
                ])
        }
        let begun = try await session.query("SELECT clock_timestamp()::text").text(0, 0)
        await session.close()
        // A worker that a job ends would exit with a signal, in each of the attempts.
        try await errand(drain, environment: environment).expect(0)
        let held = try await ground.list(
            """
            SELECT kind || ' ' || attempt || ' ' || (claimed_by IS NOT NULL) || ' ' || run_at
                || coalesce(options::text, '')
            FROM errand.jobs
            WHERE queue = 'attack.extremes' AND (claimed_by IS NOT NULL
                -- None was left out: one that snoozes is due later than it was.
                OR attempt = 0 AND run_at < $1::text::timestamptz)
            """, [.text(begun)])
        #expect(held == [])
        _ = try await ground.list(
            "DELETE FROM errand.jobs WHERE queue = 'attack.extremes' RETURNING kind")
    }
}
