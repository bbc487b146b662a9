/// An open transaction of a session of a pool.
///
/// It is valid only inside its closure.
///
/// The session checks that: a copy that is used later, even by another task, cannot run a statement
/// after the COMMIT.
public struct Transaction: Sendable {
    private let session: Session
    private let number: UInt64

    init(session: Session, number: UInt64) {
        self.session = session
        self.number = number
    }

    /// Runs one statement.
    @discardableResult
    public func query(
        _ sql: String, _ parameters: [Parameter] = []
    ) async throws(PostgresError) -> Rows {
        try await session.pipeline([Statement(sql, parameters)], in: number)[0]
    }

    /// Runs statements in one round trip.
    @discardableResult
    public func pipeline(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        try await session.pipeline(statements, in: number)
    }

    /// Sends rows with COPY … FROM STDIN; see ``Session/copyIn(_:next:)``.
    ///
    /// - Parameter next: called on the session's thread; it must not use this transaction.
    @discardableResult
    public func copyIn(
        _ sql: String, next: @Sendable () throws -> [UInt8]?
    ) async throws -> Int {
        try await session.copyIn(sql, in: number, next: next)
    }
}
