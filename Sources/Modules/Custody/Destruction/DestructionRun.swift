import Errand
import ErrandAdministration
import ErrandCommand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal
import FoundationEssentials

/// Runs the steps of a started destruction.
///
/// Each step may be repeated, and records when it ended; so a run that was killed is continued by
/// another one.
struct DestructionRun {
    let id: Int64
    let session: Session
    let invocation: Invocation
    let record: DestructionRecord
    /// How long to wait for jobs and workers.
    let timeout: Duration

    /// The rounds of emptying tables to which something writes meanwhile.
    private static let rounds = 5
    private static let pause = Duration.milliseconds(200)

    /// Runs all steps that have not ended.
    func run() async throws {
        let steps = try await DestructionRows(session: session).steps(id)
        for step in steps where step.endedAt == nil {
            try Task.checkCancellation()
            // Once this step has begun, it can only be completed: so what prevents it comes first.
            let keyFile = step.name == "keys" ? try await checkKeyFile(step) : nil
            let prepared = if let keyFile { try AuditLine.json(keyFile) } else { Array("{}".utf8) }
            _ = try await session.query(
                "SELECT custody.begin_step($1, $2, $3)",
                [.int64(id), .text(step.name), .json(prepared)])
            let detail = try await perform(step, keyFile)
            _ = try await session.pipeline([
                Statement(
                    """
                    UPDATE custody.steps SET ended_at = clock_timestamp(), detail = $3
                    WHERE destruction_id = $1 AND name = $2
                    """, [.int64(id), .text(step.name), .json(detail)]),
                audit("destruction start", detail: detail, subject: "\(id): \(step.name)"),
            ])
            invocation.output.note("\(step.name): done")
        }
        _ = try await session.query(
            "SELECT custody.end_destruction($1, $2)",
            [.int64(id), .textArray(try await DestroyElsewhere.list(id, session))])
    }

    private func audit(_ action: String, detail: [UInt8], subject: String) -> Statement {
        AuditLine(
            operatorName: invocation.operatorName, action: action, subject: subject,
            reason: record.reason, change: detail
        ).statement
    }

    private func perform(
        _ step: DestructionStep, _ keyFile: KeyFileDestruction.Detail?
    ) async throws -> [UInt8] {
        switch step.name {
        case "intake":
            let revoked = try await number("SELECT custody.stop_intake($1)")
            return try AuditLine.json(["revoked_functions": revoked])
        case "drain": return try await drain()
        case "count":
            return try AuditLine.json([
                "rows": try await number(
                    "SELECT custody.count_before($1)")
            ])
        case "keys":
            let detail = keyFile ?? .init()
            try KeyFileDestruction.destroy(detail)
            return try AuditLine.json(detail)
        case "data": return try AuditLine.json(["tables": try await emptyTables()])
        case "redis": return try AuditLine.json(["keys": try await emptyRedis()])
        case "files": return try await emptyFolders(step)
        default: return try await verify()
        }
    }

    private func number(_ sql: String) async throws -> Int64 {
        try await session.query(sql, [.int64(id)])[0].int64(0)
    }

    // MARK: Steps

    /// Stops the workers, which finish their running jobs, and waits until none is left.
    private func drain() async throws -> [UInt8] {
        let inspector = Inspector(session: session)
        let end = ContinuousClock.now + timeout
        var stopped: Set<Int64> = []
        while true {
            // Somebody may cancel it now, and start workers again.
            _ = try await session.query("SELECT custody.expect_started($1)", [.int64(id)])
            let alive = try await inspector.workers().filter(\.isAlive)
            if alive.isEmpty { break }
            let new = alive.filter { !$0.isStopping && !stopped.contains($0.id) }.map(\.id)
            if !new.isEmpty {
                stopped.formUnion(
                    try await inspector.send(
                        new, .stop, by: invocation.operatorName, reason: "destruction \(id)"))
            }
            guard ContinuousClock.now < end else {
                throw CommandFailure(
                    exit: .timedOut,
                    message: "workers are still alive: "
                        + alive.map { "\($0.id) on \($0.host)" }.joined(separator: ", "),
                    hint: "stop them where they are started, then run 'errand destruction start' "
                        + "again")
            }
            try await Task.sleep(for: Self.pause)
        }
        return try AuditLine.json(["stopped_workers": stopped.count])
    }

    /// Checks the key file before it is destroyed; returns what to record of it.
    private func checkKeyFile(_ step: DestructionStep) async throws -> KeyFileDestruction.Detail {
        let recorded = try? JSONDecoder().decode(
            KeyFileDestruction.Detail.self, from: Data(step.detail))
        return try await KeyFileDestruction(invocation, session).detail(
            after: recorded ?? .init(),
            isAccepted: record.accepted.contains(KeyFileDestruction.matter))
    }

    /// Empties the folders of the plan; those of other hosts are emptied by runs there.
    private func emptyFolders(_ step: DestructionStep) async throws -> [UInt8] {
        let key = "removed_entries"
        let recorded = try? JSONDecoder().decode(
            [String: [String: Int]].self, from: Data(step.detail))
        var removed = recorded?[key] ?? [:]
        var missing: [String] = []
        for folder in record.folders where removed[folder] == nil {
            guard let count = try OutputFolders.empty(folder) else {
                missing.append(folder)
                continue
            }
            removed[folder] = count
            _ = try await session.query(
                "UPDATE custody.steps SET detail = $3 WHERE destruction_id = $1 AND name = $2",
                [.int64(id), .text(step.name), .json(try AuditLine.json([key: removed]))])
        }
        guard missing.isEmpty else {
            throw CommandFailure(
                exit: .refused,
                message: "not folders of this host: \(missing.joined(separator: ", "))",
                hint: "run 'errand destruction start' where they are; in place of one that is "
                    + "gone, make an empty one")
        }
        return try AuditLine.json([key: removed])
    }

    private func emptyTables() async throws -> Int64 {
        let modules = try await session.query(
            "SELECT m FROM custody.modules_left($1) AS m", [.int64(id)])
        var tables: Int64 = 0
        for row in modules {
            try Task.checkCancellation()
            tables += try await session.query(
                "SELECT custody.empty_module($1, $2)", [.int64(id), .text(try row.text(0))])[0]
                .int64(0)
        }
        return tables
    }

    private func emptyRedis() async throws -> Int {
        let instance = try await session.query("SELECT id::text FROM errand.instance")[0].text(0)
        let connection = Connection(
            try invocation.redisAddress(), name: "errand-cli", connectTimeout: .seconds(2),
            replyTimeout: .seconds(5))
        try await connection.connect()
        let pattern = RedisKeys(instance: instance).prefix + "*"
        var (cursor, deleted) = ("0", 0)
        repeat {
            let reply = try await connection.send(
                ErrandRedis.Command("SCAN", cursor, "MATCH", pattern, "COUNT", "1000"))
            guard let parts = reply.array, parts.count == 2, let next = parts[0].text else {
                throw CommandFailure(exit: .failed, message: "Redis: unexpected reply to SCAN")
            }
            cursor = next
            let names = (parts[1].array ?? []).compactMap(\.text)
            guard !names.isEmpty else { continue }
            var unlink = ErrandRedis.Command("UNLINK")
            for name in names { unlink.append(name) }
            deleted += Int(try await connection.send(unlink).int ?? 0)
        } while cursor != "0"
        return deleted
    }

    /// Counts all tables; empties again what was written meanwhile.
    private func verify() async throws -> [UInt8] {
        var left: [String] = []
        for _ in 0..<Self.rounds {
            left = try await session.query(
                "SELECT custody.count_after($1) AS tables", [.int64(id)])[0]
                .textArray(0)
            if left.isEmpty { return try AuditLine.json(["rows": 0]) }
            _ = try await emptyTables()
            _ = try await emptyRedis()
        }
        throw CommandFailure(
            exit: .conflict, message: "something still writes to \(left.joined(separator: ", "))",
            hint: "stop it, then run 'errand destruction start' again")
    }
}
