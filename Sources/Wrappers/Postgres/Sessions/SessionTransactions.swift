/// Transactions, and several statements in one visit to the session's thread.
extension Session {
    /// Runs several statements on this session's thread, with nobody else's between them.
    public func run<Value: Sendable>(
        _ body: @Sendable (isolated Session) throws -> Value
    ) rethrows -> Value {
        try body(self)
    }

    /// Runs statements in one transaction: all of them take effect, or, if it throws, none.
    ///
    /// - Throws: what `body` throws. Also the error of a statement that spoiled the transaction,
    ///   if `body` swallowed it: PostgreSQL then undoes everything, COMMIT or not.
    public func transaction<Value: Sendable>(
        _ body: @Sendable (isolated Session) throws -> Value
    ) throws -> Value {
        let number = try begin()
        let value: Value
        do { value = try body(self) } catch {
            rollback(number)
            throw error
        }
        try commit(number)
        return value
    }

    /// Begins a transaction and returns its number.
    func begin() throws(PostgresError) -> UInt64 {
        guard !isInTransaction else { throw .usage("this session is in a transaction already") }
        _ = try query("BEGIN")
        lastBegun += 1
        begun = lastBegun
        return lastBegun
    }

    func commit(_ number: UInt64) throws(PostgresError) {
        try check(number)
        guard let link else {
            begun = nil
            throw Self.lostInTransaction
        }
        guard !link.isSpoiled else {
            let cause = spoiled
            rollback(number)
            throw cause.map { .server($0) }
                ?? .usage("the transaction had failed, and nothing of it was kept")
        }
        begun = nil
        do throws(PostgresError) { _ = try query("COMMIT") } catch .unreachable(let text) {
            throw .unreachable("\(text); whether the transaction was committed is not known")
        }
    }

    func rollback(_ number: UInt64) {
        guard begun == number else { return }
        begun = nil
        guard let link, !link.isIdle else { return }
        // A connection that cannot even roll back is of no use; the server does it then.
        do { _ = try query("ROLLBACK") } catch { disconnect() }
    }

    /// - Throws: `.usage` when that transaction is not the one that is open.
    func check(_ number: UInt64) throws(PostgresError) {
        guard begun == number else {
            throw .usage("the transaction is over: use it only inside its closure")
        }
    }

    func pipeline(
        _ statements: [Statement], in transaction: UInt64
    ) throws(PostgresError) -> [Rows] {
        try check(transaction)
        return try pipeline(statements)
    }

    func copyIn(
        _ sql: String, in transaction: UInt64, next: @Sendable () throws -> [UInt8]?
    ) throws -> Int {
        try check(transaction)
        return try copyIn(sql, next: next)
    }
}
