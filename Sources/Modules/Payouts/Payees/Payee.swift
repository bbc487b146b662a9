package import ErrandPostgres

/// A person's name, address and bank details for payouts.
package struct Payee: Sendable, Equatable {
    /// The name on cheques and in bank files; nil if name and address are missing.
    package var name: String?
    /// The lines below the name.
    package var address: [String]
    /// The last digits of the account for deposits; nil: cheques.
    package var bankHint: String?
    /// `CA` or `US`.
    package var bankCountry: String?
    /// Why deposits to the account stopped.
    package var refusedFor: String?

    private static let statement = """
        SELECT y.name, coalesce(y.address, '{}') AS address, d.hint, d.country, d.refused_for
        FROM people.people p
        LEFT JOIN payouts.payees y ON y.person_id = p.id
        LEFT JOIN payouts.bank_details d ON d.person_id = p.id
        WHERE p.id = $1
        """
    private static let set = "SELECT payouts.set_payee($1, $2, $3)"

    /// Reads the payee of a person; nil if the person does not exist.
    package static func read(_ person: Int64, _ session: Session) async throws -> Payee? {
        try await session.query(statement, [.int64(person)]).first.map { row in
            Payee(
                name: try row.optionalText("name"), address: try row.textArray("address"),
                bankHint: try row.optionalText("hint"),
                bankCountry: try row.optionalText("country"),
                refusedFor: try row.optionalText("refused_for"))
        }
    }

    /// Stores a person's name and postal address.
    ///
    /// - Throws: ``PayoutError/invalid(_:)`` if they are too long.
    package static func write(
        name: String, address: [String], of person: Int64, _ session: Session
    ) async throws {
        _ = try await session.payoutQuery(
            set, [.int64(person), .text(name), .textArray(address)])
    }

    /// Deletes a person's bank details; false if there are none.
    package static func forgetBank(of person: Int64, _ session: Session) async throws -> Bool {
        try await session.query("SELECT payouts.forget_bank_details($1)", [.int64(person)])
            .bool(0, 0)
    }
}
