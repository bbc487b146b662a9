/// Transactions, and exclusive use of the session.
extension Session {
    /// Runs several statements on this session's thread without others in between.
    public func run<Value: Sendable>(
        _ body: @Sendable (isolated Session) throws -> Value
    ) rethrows -> Value {
        try body(self)
    }

    /// Runs statements in one transaction: all take effect, or none if it throws.
    ///
    /// - Throws: the error of `body`; or that of a failed statement, even if `body` ignored it,
    ///   because PostgreSQL then rolls the transaction back.
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
        guard !isInTransaction else { throw .usage("this session is already in a transaction") }
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
                ?? .usage("the transaction had failed and was rolled back")
        }
        begun = nil
        do throws(PostgresError) { _ = try query("COMMIT") } catch .unreachable(let text) {
            throw .unreachable("\(text); it is unknown whether the transaction was committed")
        }
    }

    func rollback(_ number: UInt64) {
        guard begun == number else { return }
        begun = nil
        guard let link, !link.isIdle else { return }
        // Without a rollback the connection is unusable: the server rolls back when it closes.
        do { _ = try query("ROLLBACK") } catch { disconnect() }
    }

    /// - Throws: `.usage` if another transaction, or none, is open.
    func check(_ number: UInt64) throws(PostgresError) {
        guard begun == number else {
            throw .usage("the transaction has ended: use it only inside its closure")
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
