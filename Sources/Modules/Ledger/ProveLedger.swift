import FoundationEssentials
package import Errand
package import ErrandPostgres

/// Verifies every night that balances equal the sums of postings and transactions sum to zero.
package struct ProveLedger: Job {
    package static let kind = "ledger.prove"
    package static let options = JobOptions(
        queue: "ledger", priority: .low, maxAttempts: 5, backoff: Backoff(base: 60, ceiling: 900),
        timeout: .seconds(3_000))

    package init() {}

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "40 3 * * *", run: ProveLedger(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }

    /// Proves the ledger of a database and writes the result.
    @discardableResult
    package static func run(
        in database: Pool, now: Instant, chunk: Int = 10_000
    ) async throws -> Proof {
        var proof = try await database.transaction { transaction in
            try await Proof.make(now: now, chunk: chunk) { sql, parameters in
                try await transaction.query(sql, parameters)
            }
        }
        proof = try await database.transaction { [proof] transaction in
            var proof = proof
            try await proof.write { try await transaction.query($0, $1) }
            return proof
        }
        return proof
    }
}

/// The job kinds of the ledger module.
package enum LedgerKinds {
    /// Registers the kinds and their schedules.
    package static func add(to kinds: inout JobKinds) {
        kinds.handle(ProveLedger.self) { _, context in
            let proof = try await ProveLedger.run(
                in: context.database, now: Instant(date: context.now))
            let log = context.log.with("proof", Int(proof.id)).with("postings", proof.postings)
            guard proof.faults == 0 else {
                return log.with("faults", proof.faults).error(
                    "the proof of the ledger failed: \(proof.examples.first ?? "no example")")
            }
            log.info("the proof of the ledger succeeded")
        }
        do { kinds.schedule(try ProveLedger.schedule()) } catch {
            preconditionFailure("\(error)")
        }
    }
}

/// The state of the ledger and its last proof, for the doctor.
package struct LedgerHealth: Sendable {
    /// Whether the ledger has transactions.
    package var isUsed: Bool
    package var lastProof: Proof?
    /// The age of the last proof; nil without one.
    package var age: Duration?

    private static let used = """
        SELECT EXISTS (SELECT FROM ledger.transactions) AS is_used,
            extract(epoch FROM now() - (SELECT max(ended_at) FROM ledger.proofs))::bigint AS age
        """

    package static func read(_ session: Session) async throws -> LedgerHealth {
        let rows = try await session.query(used)
        guard let row = rows.first else { throw PostgresError.decoding("no row") }
        return LedgerHealth(
            isUsed: try row.bool("is_used"),
            lastProof: try await Proof.list(session, limit: 1).first,
            age: try row.optionalInt64("age").map { .seconds($0) })
    }
}
