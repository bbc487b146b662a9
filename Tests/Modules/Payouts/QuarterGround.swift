import Foundation
import Errand
import ErrandLedger
import ErrandNotification
import ErrandPayouts
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices

/// People with rewards, whose quarters are closed by a worker.
struct QuarterGround: Sendable {
    let pool: Pool
    let session: Session
    let kinds: JobKinds

    /// - Parameter people: ids from 1, with all that a payout needs.
    init(people: Int = 5) async throws {
        let database = try TestDatabase.here()
        pool = database.pool()
        session = database.session()
        var kinds = JobKinds()
        PayoutKinds.add(to: &kinds, notices: try .of([PayoutsModule()]))
        self.kinds = kinds
        _ = try await session.query(
            """
            INSERT INTO people.people (id, birth_date, age_verified_at)
            SELECT n, '1990-05-17', now() FROM generate_series(1, $1) n
            """, [.int64(Int64(people))])
        _ = try await session.query(
            """
            SELECT count(payouts.set_payee(n, 'Zoë Tremblay ' || n,
                ARRAY[n || ', rue Rachel Est', 'Montréal QC  H2W 1E1']))
            FROM generate_series(1, $1) n
            """, [.int64(Int64(people))])
    }

    /// Credits a reward that was earned at a time; returns the ledger's transaction.
    @discardableResult
    func earn(
        _ person: Int64, _ amount: Int64, at: String,
        _ source: String = UUID().uuidString.lowercased(), currency: String = "CAD"
    ) async throws -> Int64 {
        try await session.query(
            "SELECT ledger.credit_reward($1, $2, NULL, $3, $3, $4, $5::text::timestamptz)",
            [
                .int64(person), .text("survey:" + source), .int64(amount), .text(currency),
                .text(at),
            ]
        ).int64(0, 0)
    }

    /// Closes a quarter by workers.
    ///
    /// - Parameters:
    ///   - quarter: nil for the last one that is over.
    ///   - actor: who begins, as by a command; nil begins it by the schedule's job.
    func close(_ quarter: String?, by actor: String? = "ann", workers: Int = 1) async throws {
        let client = try await client()
        let subject = quarter.flatMap { Quarter($0) }
        if let actor, let subject {
            try await begin(subject, by: actor, client)
        } else {
            try await client.enqueue(CloseQuarter(quarter: subject))
        }
        try await work(workers: workers)
    }

    /// Begins to close a quarter, as `errand payout close` does.
    ///
    /// - Returns: how many chunks; nil when somebody has begun before.
    @discardableResult
    func begin(
        _ quarter: Quarter, by actor: String, chunkSize: Int = Closing.chunkSize,
        _ client: JobClient
    ) async throws -> Int? {
        let rules = try await PayRules.read(session)
        let zone = try ZoneDatabase().zone(named: rules.timeZone)
        return try await pool.transaction { transaction in
            let run = try await Closing.run(of: quarter, rules: rules, in: zone, transaction)
            return try await Closing.begin(
                run: run, now: .now(), actor: actor, chunkSize: chunkSize, client: client,
                transaction)
        }
    }

    func client() async throws -> JobClient {
        try await JobClient(pool: pool, redis: try TestDatabase.here().redis)
    }

    /// Lets workers do all that is due.
    func work(workers: Int = 1) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workers {
                group.addTask {
                    _ = try await TestWorker.drain(
                        kinds, queues: [.init("payouts", concurrency: 3)])
                }
            }
            try await group.waitForAll()
        }
    }

    func run(_ quarter: String) async throws -> RunRecord? {
        guard let quarter = Quarter(quarter) else { return nil }
        return try await RunRows(session: session).run(of: quarter)
    }

    /// Payouts as `person amount state`, in the order of people.
    func payouts(_ quarter: String) async throws -> [String] {
        try await session.query(
            """
            SELECT p.person_id || ' ' || p.amount || ' ' || p.state
                || CASE WHEN p.reason IS NULL THEN '' ELSE ': ' || p.reason END
            FROM payouts.payouts p JOIN payouts.runs r ON r.id = p.run_id
            WHERE r.quarter = $1 ORDER BY p.person_id, p.currency, p.id
            """, [.text(quarter)]
        ).map { try $0.text(0) }
    }

    /// The payout of a person, the last one.
    func payout(of person: Int64) async throws -> Int64 {
        try await session.query(
            "SELECT max(id) FROM payouts.payouts WHERE person_id = $1", [.int64(person)]
        ).int64(0, 0)
    }

    func balance(_ person: Int64) async throws -> Int64 {
        try await session.query(
            "SELECT coalesce(sum(amount), 0)::bigint FROM ledger.reward_balance($1)",
            [.int64(person)]
        ).int64(0, 0)
    }

    /// What does not agree, in the payouts and in the ledger.
    func faults() async throws -> [String] {
        let ledger = try await ProveLedger.run(in: pool, now: .now())
        return try await PayoutProof.make(pool).faults + ledger.examples
    }

    /// Gives a payout to a file, as issuing does.
    func issue(_ payout: Int64, cheque: Int64? = nil) async throws {
        let rows = try await session.query(
            "SELECT run_id, currency, amount, person_id FROM payouts.payouts WHERE id = $1",
            [.int64(payout)])
        let run = try rows.int64(0, 0)
        try await session.transaction { [rows] session in
            let issue = try session.query(
                """
                INSERT INTO payouts.issues (run_id, issued_on, pay_date, number, actor,
                    published_at)
                SELECT $1, '2026-10-12', '2026-10-15', count(*) + 1, 'test', now()
                FROM payouts.issues WHERE run_id = $1 RETURNING id
                """, [.int64(run)]
            ).int64(0, 0)
            let file = try session.query(
                """
                INSERT INTO payouts.files (issue_id, number, payouts, amount, method, currency,
                    series, published_at)
                VALUES ($1, $1, 1, $2, 'cheque', $3, 'test', now()) RETURNING id
                """, [.int64(issue), .int64(try rows.int64(0, 2)), .text(try rows.text(0, 1))]
            ).int64(0, 0)
            _ = try session.query(
                "INSERT INTO payouts.items VALUES ($1, $2, $3, 'Zoë', '{Montréal}', NULL)",
                [.int64(file), .int64(payout), .int64(try rows.int64(0, 3))])
            _ = try session.query(
                """
                UPDATE payouts.payouts SET state = 'issued', file_id = $2, method = 'aft',
                    cheque_number = $3 WHERE id = $1
                """, [.int64(payout), .int64(file), .optional(cheque)])
        }
    }
}

/// The refusal that a step ends with.
func refusal(_ body: () async throws -> Void) async -> PayoutError? {
    do {
        try await body()
        return nil
    } catch let error as PostgresError {
        return PayoutError(error)
    } catch { return error as? PayoutError }
}
