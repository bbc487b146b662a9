import Errand
import ErrandPostgres

/// The engine's own SQL, for loops with no engine around them.
struct RawStatements: Sendable {
    /// A session as the engine has it.
    func session(_ flags: Flags, _ name: String, isDurable: Bool = true) throws -> Session {
        let setup = Statements.sessionSetup + (isDurable ? [] : ["SET synchronous_commit = off"])
        return Session(SessionSettings(try flags.database(), name: name, setup: setup))
    }

    /// The row that a claim wants to see.
    func worker(_ session: Session) async throws -> Int64 {
        try await session.query(
            Statements.registerWorker,
            [
                .text("bench"), .int32(1), .text("0"), .float(3_600), .json(Array("{}".utf8)),
                .textArray([]), .textArray([]),
            ]
        ).int64(0, 0)
    }

    /// What `errand.enqueue_jobs()` does for jobs that are due now.
    private static let insert = """
        INSERT INTO errand.jobs (queue, kind, args_version, priority, max_attempts, not_after,
            tags, options, args, run_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, a.args, clock_timestamp()
        FROM unnest($9::jsonb[]) AS a (args)
        RETURNING id, run_at
        """

    func insert(_ args: [[UInt8]]) -> Statement {
        Statement(
            Self.insert,
            [
                .text("default"), .text("demo.noop"), .int16(1), .int16(2), .int16(20), .null,
                .null, .null, .jsonArray(args),
            ])
    }

    func claim(_ ids: [Int64], worker: Int64, token: Int64) -> Statement {
        Statement(Statements.claim, [.int64Array(ids), .int64(worker), .int64(token)])
    }

    func complete(_ ids: [Int64], token: Int64) -> Statement {
        Statement(
            Statements.complete,
            [
                .int64Array(ids), .int64Array(ids.map { _ in token }),
                .floatArray(ids.map { _ in 0.1 }), .nullableInt16Array(ids.map { _ in 7 }),
            ])
    }
}

let rawArguments = Array("{\"payload\": \"\(payload)\"}".utf8)
