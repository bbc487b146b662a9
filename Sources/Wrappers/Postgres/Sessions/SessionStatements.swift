/// Queries, pipelines and scripts.
extension Session {
    /// Runs one statement.
    ///
    /// - Parameters:
    ///   - sql: one command, with `$1`, `$2` … for the parameters.
    ///   - prepare: whether it is worth keeping prepared; false for a text that will not come
    ///     again.
    public func query(
        _ sql: String, _ parameters: [Parameter] = [], prepare: Bool = true
    ) throws(PostgresError) -> Rows {
        try query(Statement(sql, parameters), prepare: prepare)
    }

    /// Runs one statement.
    public func query(
        _ statement: Statement, prepare: Bool = true
    ) throws(PostgresError) -> Rows {
        let rows = try pipeline([statement], prepare: prepare)
        return rows[0]
    }

    /// Runs statements in one round trip; outside a transaction, in one of their own.
    ///
    /// - Throws: the first error; then none of them took effect, unless they hold their own
    ///   COMMIT.
    public func pipeline(
        _ statements: [Statement], prepare: Bool = true
    ) throws(PostgresError) -> [Rows] {
        guard !statements.isEmpty else { return [] }
        var answer = try attempt(statements, prepare: prepare)
        if let failure = answer.failure, failure.isStale {
            // The table changed under a prepared statement, or someone deallocated it.
            prepared.forget()
            if failure.mayRepeat { answer = try attempt(statements, prepare: prepare) }
        }
        if let failure = answer.failure { throw failed(failure.error) }
        settle()
        guard answer.rows.count == statements.count else { throw brokenOff(Self.outOfStep) }
        return answer.rows
    }

    /// Runs a text of several statements, without parameters or answers.
    public func script(_ sql: String) throws(PostgresError) {
        try Self.checkText(sql)
        let link = try connected()
        var failure: ServerError?
        do throws(PostgresError) {
            let head = link.isIdle ? transactionSetup?.sql.map { $0 + ";\n" } : nil
            try link.sendScript((head ?? "") + sql)
            while let result = try link.nextResult() {
                try Self.refuseCopy(result)
                if result.kind == .failed { failure = failure ?? result.error }
            }
        } catch {
            throw brokenOff(error, after: failure)
        }
        if let failure { throw failed(failure) }
        settle()
    }

    static let outOfStep = PostgresError.unreachable("PostgreSQL's answers got out of step")

    /// Gives the connection up in the middle of an answer.
    ///
    /// - Parameter failure: what the server had said before, which tells more than the break.
    func brokenOff(_ error: PostgresError, after failure: ServerError? = nil) -> PostgresError {
        disconnect()
        guard case .unreachable = error, let failure else { return error }
        return .unreachable("the server ended the connection: \(failure)")
    }

    static func checkText(_ sql: String) throws(PostgresError) {
        if sql.utf8.contains(0) { throw .usage("a statement may not hold a NUL character") }
    }

    static func refuseCopy(_ result: ResultBox) throws(PostgresError) {
        guard result.kind == .copyIn || result.kind == .copyOut else { return }
        throw .usage("COPY … FROM STDIN goes through copyIn; COPY … TO STDOUT is not offered")
    }

    // MARK: Pipelines

    private struct Answer {
        var rows: [Rows] = []
        var failure: Failure?
    }

    private struct Failure {
        var error: ServerError
        /// Whether a statement that was prepared earlier is of no use any more.
        var isStale: Bool
        /// Whether nothing of the pipeline took effect, so that it may be sent once more.
        var mayRepeat: Bool
    }

    /// What was sent, in the order in which it is answered.
    private enum Step {
        case deallocate
        case setUp
        case prepare(name: String, sql: String)
        case execute(isFresh: Bool)
    }

    private func attempt(
        _ statements: [Statement], prepare: Bool
    ) throws(PostgresError) -> Answer {
        for statement in statements { try statement.check() }
        let link = try connected()
        let wasIdle = link.isIdle
        // The next transaction of a pooled session may meet a server that knows none of them.
        let prepare = prepare && transactionSetup == nil
        var failure: Failure?
        do throws(PostgresError) {
            try link.enterPipeline()
            var steps: [Step] = []
            steps.reserveCapacity(statements.count)
            try makeRoom(for: statements, prepare: prepare, on: link, &steps)
            if wasIdle, let setup = transactionSetup?.sql {
                try link.sendUnprepared(Statement(setup))
                steps.append(.setUp)
            }
            for statement in statements {
                try send(statement, prepare: prepare, on: link, &steps)
            }
            try link.sync()
            var answer = Answer()
            answer.rows.reserveCapacity(statements.count)
            for step in steps { try receive(step, into: &answer, &failure, from: link) }
            try receiveEnd(&failure, from: link)
            try link.exitPipeline()
            failure?.mayRepeat = wasIdle && !answer.rows.contains { $0.endsTransaction }
            answer.failure = failure
            return answer
        } catch {
            throw brokenOff(error, after: failure?.error)
        }
    }

    /// The end of a pipeline.
    ///
    /// Outside a transaction that is where it commits, and what was put off until then (deferred
    /// constraints) may still fail it.
    private func receiveEnd(_ failure: inout Failure?, from link: Link) throws(PostgresError) {
        var mayEnd = false
        while true {
            guard let result = try link.nextResult() else {
                // As after a statement's result, libpq says nil once after an error.
                guard mayEnd else { throw Self.outOfStep }
                mayEnd = false
                continue
            }
            if result.kind == .pipelineEnd { return }
            guard result.kind == .failed else { throw Self.outOfStep }
            mayEnd = true
            if failure == nil {
                failure = Failure(error: result.error, isStale: false, mayRepeat: false)
            }
        }
    }

    /// Drops all prepared statements when there are too many, ahead of and apart from the rest.
    private func makeRoom(
        for statements: [Statement], prepare: Bool, on link: Link, _ steps: inout [Step]
    ) throws(PostgresError) {
        // Inside a transaction that failed, the server refuses it: later will do.
        guard prepare, prepared.isFull, link.isIdle,
            statements.contains(where: { prepared.find($0) == nil })
        else { return }
        prepared.clear()
        try link.sendUnprepared(Statement("DEALLOCATE ALL"))
        try link.sync()
        steps.append(.deallocate)
    }

    private func send(
        _ statement: Statement, prepare: Bool, on link: Link, _ steps: inout [Step]
    ) throws(PostgresError) {
        if let entry = prepared.find(statement) {
            try link.sendPrepared(entry.name, statement.parameters)
            steps.append(.execute(isFresh: false))
        } else if prepare, !prepared.isFull {
            let entry = prepared.add(statement)
            try link.sendPrepare(entry, statement.sql)
            steps.append(.prepare(name: entry.name, sql: statement.sql))
            try link.sendPrepared(entry.name, statement.parameters)
            steps.append(.execute(isFresh: true))
        } else {
            try link.sendUnprepared(statement)
            steps.append(.execute(isFresh: true))
        }
    }

    private func receive(
        _ step: Step, into answer: inout Answer, _ failure: inout Failure?, from link: Link
    ) throws(PostgresError) {
        while let result = try link.nextResult() {
            try Self.refuseCopy(result)
            if result.kind == .failed, failure == nil {
                let error = result.error
                var isStale = false
                if case .execute(isFresh: false) = step {
                    isStale = error.sqlState == "26000" || error.sqlState == "0A000"
                }
                failure = Failure(error: error, isStale: isStale, mayRepeat: false)
            }
            switch step {
            case .deallocate, .setUp: break
            case .prepare(let name, let sql):
                if result.kind != .rows { prepared.remove(name, sql) }
            case .execute:
                if result.kind == .rows { answer.rows.append(Rows(result)) }
            }
        }
        guard case .deallocate = step else { return }
        guard let end = try link.nextResult(), end.kind == .pipelineEnd else {
            throw Self.outOfStep
        }
    }
}

extension Statement {
    /// The protocol counts parameters in 16 bits and their bytes in 32.
    fileprivate func check() throws(PostgresError) {
        try Session.checkText(sql)
        guard parameters.count <= 65_535 else {
            throw .usage("a statement takes 65535 parameters at most: send an array instead")
        }
    }
}

extension Rows {
    /// Whether the statement began or ended a transaction, or may have done so inside.
    fileprivate var endsTransaction: Bool {
        ["BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "PREPARE TRANSACTION", "CALL", "DO"]
            .contains(commandTag)
    }
}
