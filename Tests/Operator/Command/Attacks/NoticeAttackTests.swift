import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

/// Forged notices to the feeder, by the login of an autoscaler: they are hints, and no more.
@Suite("Attacks: notices to the feeder", .serialized, .database) struct NoticeAttackTests {
    private static let lane = "default\tdemo.noop\t1"

    /// The first time that PostgreSQL has.
    private static let first = -211_813_488_000_000_000

    /// Payloads for a job that is due in an hour.
    private static func payloads(_ job: String) -> [String] {
        let numbers = [
            "9223372036854775807\t0\t-9223372036854775808",
            "9223372036854775807\t3\t9223372036854775807", "-9223372036854775808\t1\t0",
            "0\t0\t0", "\(job)\t0\t-9223372036854775808", "\(job)\t0\t0",
            "\(job)\t3\t9223372036854775807", "\(job)\t9\t0", "\(job)\tx\t0",
        ]
        let times = [
            "-9223372036854775808", "-9223372036854775807", "-9223372036854000000",
            "\(first - 1)", "\(first)", "0", "9223371331200000000", "9223372036854775807", "now",
        ]
        var payloads = numbers.map { "\(lane)\tjob\t\($0)" }
        payloads += times.map { "\(lane)\tsince\t\($0)" }
        payloads += [
            lane, "\(lane)\tlater", "*", "", "\t", "default\tdemo.noop\t32767",
            "default\tdemo.noop\t-32768", "nowhere\tno.kind\t1", "nowhere\tno.kind\t1\tsince\t0",
            "\u{1B}[2J\t'; DROP TABLE errand.jobs; --\t1", String(repeating: "x", count: 7_900),
            "\(String(repeating: "q", count: 7_800))\tdemo.noop\t1",
        ]
        return payloads
    }

    /// A worker of all queues, which is the feeder, and a login that may read one view.
    private func attacking(
        _ body: (_ attacker: Session, _ worker: Program) async throws -> Void
    ) async throws {
        let worker = try start(["work", "--queues", "*", "--no-schedules"])
        try await eventually("the worker to be the feeder") {
            try await number(
                "SELECT count(*) FROM errand.leaders l WHERE role = 'feeder' AND errand.is_led(l)")
                == 1
        }
        let (attacker, _) = try await TestDatabase.here().login(as: "errand_autoscaler")
        try await body(attacker, worker)
        await attacker.close()
        worker.signal(SIGTERM)
        let run = try await finish(worker)
        run.expect(0)
        #expect(!run.errors.contains("the feeder was interrupted"), "\(run.errors)")
        #expect(try await number("SELECT count(*) FROM errand.dead_jobs") == 0)
    }

    /// Enqueues a job by SQL, which only a notice to the feeder announces, and waits for its end.
    private func expectWork(after what: String) async throws {
        let job = try await number("SELECT errand.enqueue('demo.noop')")
        try await eventually("a job to run after \(what)") {
            try await number("SELECT count(*) FROM errand.finished_jobs WHERE id = \(job)") == 1
        }
    }

    @Test func `no notice runs a job early, kills it, or interrupts the feeder`() async throws {
        let job = try await number("SELECT errand.enqueue('demo.noop', delay => '1 hour')")
        try await attacking { attacker, _ in
            for payload in Self.payloads("\(job)") {
                _ = try await attacker.query(
                    "SELECT pg_notify('errand_ready', $1)", [.text(payload)])
                try await expectWork(after: payload.debugDescription)
            }
            // All at once, for one round.
            let all = Self.payloads("\(job)")
            _ = try await attacker.query(
                "SELECT count(pg_notify('errand_ready', p)) FROM unnest($1::text[]) AS p",
                [.textArray(all)])
            try await expectWork(after: "all of them")
            #expect(
                try await number(
                    """
                    SELECT count(*) FROM errand.jobs WHERE id = \(job) AND attempt = 0
                        AND claimed_by IS NULL AND run_at > now()
                    """) == 1)
            // What named it did not keep it from running in its time.
            try await errand("job", "run-now", "\(job)").expect(0)
            try await eventually("the job to run when it is due") {
                try await number("SELECT count(*) FROM errand.finished_jobs WHERE id = \(job)")
                    == 1
            }
        }
    }

    @Test(arguments: [
        ("job ids", "e'default\\tdemo.noop\\t1\\tjob\\t' || 1000000000000 + n || e'\\t0\\t0'"),
        ("times", "e'default\\tdemo.noop\\t1\\tsince\\t' || -n"),
        ("queues", "'queue-' || n || e'\\tdemo.noop\\t1'"),
        ("kinds", "e'default\\tkind-' || n || e'\\t1'"),
        ("long names", "n || repeat('x', 300) || e'\\tdemo.noop\\t1'"),
        ("nonsense", "'nonsense ' || n"),
    ])
    func `20,000 notices do not keep jobs from running`(_ what: String, _ payload: String)
        async throws
    {
        try await attacking { attacker, worker in
            try await expectWork(after: "nothing")
            let rows = try await attacker.query(
                """
                SELECT count(pg_notify('errand_ready', \(payload)))
                FROM generate_series(1, 20000) AS n
                """)
            #expect(try rows.int64(0, 0) == 20_000)
            for _ in 0..<3 { try await expectWork(after: "20,000 \(what)") }
            // A lane of another name would have been named in the log, 20,000 times.
            #expect(worker.errors.utf8.count < 200_000)
        }
    }
}
