/// Queries, pipelines and scripts.
extension Session {
    /// Runs one statement.
    ///
    /// - Parameters:
    ///   - sql: one command, with `$1`, `$2` … for the parameters.
    ///   - prepare: whether to prepare it; false for a text that will not be used again.
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
    /// - Throws: the first error; then none of them took effect, unless they contain a COMMIT.
    public func pipeline(
        _ statements: [Statement], prepare: Bool = true
    ) throws(PostgresError) -> [Rows] {
        guard !statements.isEmpty else { return [] }
        var answer = try attempt(statements, prepare: prepare)
        if let failure = answer.failure, failure.isStale {
            // The table of a prepared statement was changed, or the statement was deallocated.
            prepared.forget()
            if failure.mayRepeat { answer = try attempt(statements, prepare: prepare) }
        }
        if let failure = answer.failure { throw failed(failure.error) }
        settle()
        guard answer.rows.count == statements.count else { throw brokenOff(Self.outOfStep) }
        return answer.rows
    }

    /// Runs statements as ``pipeline(_:prepare:)`` does; without a connection it returns nil.
    package func pipelineIfConnected(
        _ statements: [Statement]
    ) throws(PostgresError) -> [Rows]? {
        guard link?.isAlive ?? false else { return nil }
        return try pipeline(statements)
    }

    /// Runs a text of several statements, without parameters or results.
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

    static let outOfStep = PostgresError.unreachable("PostgreSQL's answers are out of step")

    /// Closes the connection in the middle of an answer, and returns the error to throw.
    ///
    /// - Parameter failure: an earlier error of the server, which explains the closed connection.
    func brokenOff(_ error: PostgresError, after failure: ServerError? = nil) -> PostgresError {
        disconnect()
        guard case .unreachable = error, let failure else { return error }
        return .unreachable("the server ended the connection: \(failure)")
    }

    static func checkText(_ sql: String) throws(PostgresError) {
        if sql.utf8.contains(0) { throw .usage("a statement must not contain a NUL character") }
    }

    static func refuseCopy(_ result: ResultBox) throws(PostgresError) {
        guard result.kind == .copyIn || result.kind == .copyOut else { return }
        throw .usage("use copyIn for COPY … FROM STDIN, copyOut for COPY … TO STDOUT")
    }

    // MARK: Pipelines

    private struct Answer {
        var rows: [Rows] = []
        var failure: Failure?
    }

    private struct Failure {
        var error: ServerError
        /// Whether a prepared statement has become invalid.
        var isStale: Bool
        /// Whether nothing of the pipeline took effect, so that it can be sent again.
        var mayRepeat: Bool
    }

    /// The commands that were sent, in the order of their answers.
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
        // The next transaction of a pooled session may run in a server process without them.
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

    /// Receives the end of a pipeline.
    ///
    /// Outside a transaction the pipeline commits there, so a deferred constraint may still fail.
    private func receiveEnd(_ failure: inout Failure?, from link: Link) throws(PostgresError) {
        var mayEnd = false
        while true {
            guard let result = try link.nextResult() else {
                // As after a statement's result, libpq returns nil once after an error.
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

    /// Deallocates all prepared statements if there are too many, in a separate transaction before
    /// the others.
    private func makeRoom(
        for statements: [Statement], prepare: Bool, on link: Link, _ steps: inout [Step]
    ) throws(PostgresError) {
        // The server refuses this in a failed transaction; it can be done later.
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
    /// Checks the limits of the protocol: 16 bits for the number of parameters, 32 for their size.
    fileprivate func check() throws(PostgresError) {
        try Session.checkText(sql)
        guard parameters.count <= 65_535 else {
            throw .usage("a statement takes at most 65535 parameters: send an array instead")
        }
    }
}

extension Rows {
    /// Whether the statement began or ended a transaction, or may have done so.
    fileprivate var endsTransaction: Bool {
        ["BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "PREPARE TRANSACTION", "CALL", "DO"]
            .contains(commandTag)
    }
}
