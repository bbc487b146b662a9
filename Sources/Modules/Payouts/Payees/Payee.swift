package import ErrandPostgres

/// Who is paid, and where to.
package struct Payee: Sendable, Equatable {
    /// As it stands on a cheque and in a bank's file; nil with ``address`` when none was given.
    package var name: String?
    /// The lines below the name.
    package var address: [String]
    /// The last digits of the account for deposits; nil: cheques.
    package var bankHint: String?
    /// `CA` or `US`.
    package var bankCountry: String?
    /// Why nothing is sent there any more.
    package var refusedFor: String?

    private static let statement = """
        SELECT y.name, coalesce(y.address, '{}') AS address, d.hint, d.country, d.refused_for
        FROM people.people p
        LEFT JOIN payouts.payees y ON y.person_id = p.id
        LEFT JOIN payouts.bank_details d ON d.person_id = p.id
        WHERE p.id = $1
        """
    private static let set = "SELECT payouts.set_payee($1, $2, $3)"

    /// What a person gave; nil when there is no such person.
    package static func read(_ person: Int64, _ session: Session) async throws -> Payee? {
        try await session.query(statement, [.int64(person)]).first.map { row in
            Payee(
                name: try row.optionalText("name"), address: try row.textArray("address"),
                bankHint: try row.optionalText("hint"),
                bankCountry: try row.optionalText("country"),
                refusedFor: try row.optionalText("refused_for"))
        }
    }

    /// Takes note of how a person is called and where letters reach them.
    ///
    /// - Throws: ``PayoutError/invalid(_:)`` when they are too long.
    package static func write(
        name: String, address: [String], of person: Int64, _ session: Session
    ) async throws {
        _ = try await session.payoutQuery(
            set, [.int64(person), .text(name), .textArray(address)])
    }

    /// Forgets where a person's deposits go; false when there was nothing to forget.
    package static func forgetBank(of person: Int64, _ session: Session) async throws -> Bool {
        try await session.query("SELECT payouts.forget_bank_details($1)", [.int64(person)])
            .bool(0, 0)
    }
}
