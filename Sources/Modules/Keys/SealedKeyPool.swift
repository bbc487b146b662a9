import ErrandCrypto
package import ErrandPostgres

/// Keys of a module that its functions in PostgreSQL use: workers make them, seal them, and keep
/// them open.
///
/// The database cannot seal keys, as it does not have the key file. In clear, a key exists only in
/// an unlogged table, which is empty after a crash of the server; a job then opens the keys again.
package protocol SealedKeyPool: Sendable {
    /// Where a key stands in the order of all.
    associatedtype Place: Sendable

    /// Reads at most N keys that are not open, behind a place in their order.
    ///
    /// - Parameter place: of the last key before; nil for the first ones.
    func closed(behind place: Place?, most: Int32) -> Statement
    func place(of row: Row) throws -> Place
    /// Opens a key.
    ///
    /// - Throws: `CryptoError.damaged`, `CryptoError.unknownKey`.
    func opening(_ row: Row) throws -> Statement
    /// Says that a key is damaged; or returns the statement that deletes it, if nothing needs it.
    func damaged(_ row: Row) throws -> Statement?
    /// Reads what needs a new key, at most N; may lock it until the transaction ends.
    func missing(most: Int32) -> Statement
    /// Adds and opens a new key; the statement answers whether nothing else had added it.
    func making(_ row: Row) throws -> Statement
    /// Deletes the keys that nothing needs any more, and answers how many.
    var forgetting: Statement? { get }
}

/// What one run did to the keys of a ``SealedKeyPool``.
package struct PreparedKeys: Sendable, Equatable {
    package var made = 0
    /// The number of keys reopened after a crash of the server.
    package var opened = 0
    /// The number of keys in use that cannot be opened.
    package var damaged = 0
    /// The number of keys that were deleted.
    package var forgotten = 0

    package init(made: Int = 0, opened: Int = 0, damaged: Int = 0, forgotten: Int = 0) {
        self.made = made
        self.opened = opened
        self.damaged = damaged
        self.forgotten = forgotten
    }
}

/// The number of keys per transaction.
private let batch: Int32 = 500

extension SealedKeyPool {
    package var forgetting: Statement? { nil }

    /// Opens the keys that are not open, creates the missing ones, and deletes what nothing needs.
    ///
    /// - Throws: `CryptoError.unknownKey` if a sealing key is missing, after all else is done.
    @discardableResult
    package func run(in database: Pool) async throws -> PreparedKeys {
        var result = PreparedKeys()
        let unknown = try await openAll(in: database, &result)
        while true {
            let (found, made) = try await database.transaction { transaction in
                let rows = try await transaction.pipeline([missing(most: batch)])[0]
                let statements = try rows.map { try making($0) }
                let answers =
                    statements.isEmpty ? [] : try await transaction.pipeline(statements)
                return (rows.count, try answers.count { try $0.bool(0, 0) })
            }
            result.made += made
            guard found == batch else { break }
        }
        if let forgetting {
            result.forgotten = try await database.withSession {
                Int(try await $0.pipeline([forgetting])[0].int64(0, 0))
            }
        }
        if let unknown { throw unknown }
        return result
    }

    /// - Returns: the error, if a sealing key is missing here.
    private func openAll(
        in database: Pool, _ result: inout PreparedKeys
    ) async throws -> CryptoError? {
        var unknown: CryptoError?
        var last: Place?
        while true {
            let read = closed(behind: last, most: batch)
            let rows = try await database.withSession { try await $0.pipeline([read])[0] }
            guard !rows.isEmpty else { return unknown }
            var statements: [Statement] = []
            for row in rows {
                last = try place(of: row)
                do {
                    statements.append(try opening(row))
                    result.opened += 1
                } catch CryptoError.damaged {
                    if let forgetting = try damaged(row) {
                        statements.append(forgetting)
                    } else {
                        result.damaged += 1
                    }
                } catch let error as CryptoError {
                    unknown = error
                }
            }
            guard !statements.isEmpty else { continue }
            let all = statements
            _ = try await database.withSession { try await $0.pipeline(all) }
        }
    }
}
