package import ErrandCrypto
import FoundationEssentials
package import ErrandPaymentFiles
package import ErrandPostgres
package import ErrandSealing

/// Where people's money goes, sealed in the database.
package struct BankBook: Sendable {
    private let keys: SealingKeys

    /// - Parameter keys: seal and open what people gave.
    package init(sealing keys: SealingKeys) { self.keys = keys }

    /// What is sealed in the tables of payouts: what people gave, and what files were made of.
    package static let sealed = [
        SealedColumn(
            "payouts.bank_details", "sealed", key: [.init("person_id", "bigint")],
            context: contextInSQL),
        SealedColumn(
            "payouts.items", "sealed",
            key: [.init("file_id", "bigint"), .init("payout_id", "bigint")],
            context: contextInSQL),
    ]

    /// Sealed for the person, so that nobody's details can be moved to somebody else's row.
    private static let contextInSQL = "'payouts.bank_details/' || person_id"
    private static func context(_ person: Int64) -> String { "payouts.bank_details/\(person)" }

    private static let write = "SELECT payouts.set_bank_details($1, $2, $3, $4)"

    /// Writes down where a person's money goes from now on.
    ///
    /// - Throws: `PostgresError` with SQLSTATE 23503 when there is no such person.
    package func write(_ details: BankDetails, of person: Int64, _ session: Session) async throws {
        _ = try await session.query(
            Self.write,
            [
                .int64(person), .text(details.country), .bytes(try seal(details, of: person)),
                .text(details.hint),
            ])
    }

    /// Whether what a key has sealed can be opened.
    package func hasKey(named name: String) -> Bool { keys.names.contains(name) }

    /// The sealed form of somebody's details.
    package func seal(_ details: BankDetails, of person: Int64) throws -> [UInt8] {
        let bytes = Array(try JSONEncoder().encode(details))
        return try keys.seal(SecretBytes(bytes), context: Self.context(person))
    }

    /// Opens them again.
    ///
    /// - Throws: ``UnreadableBankDetails``
    package func open(
        _ sealed: [UInt8], of person: Int64
    ) throws(UnreadableBankDetails) -> BankDetails {
        let bytes: [UInt8]
        do {
            bytes = try keys.open(sealed, context: Self.context(person)).reveal()
        } catch CryptoError.unknownKey(let name) {
            throw .keyMissing(name)
        } catch {
            throw .damaged
        }
        if let details = PlainDetails.read(bytes) { return details }
        do { return try JSONDecoder().decode(BankDetails.self, from: Data(bytes)) } catch {
            throw .invalid
        }
    }
}

/// Why bank details cannot be used; nothing of them is in it.
package enum UnreadableBankDetails: Error, Equatable, CustomStringConvertible {
    /// The key that sealed them is not among those at hand.
    case keyMissing(String)
    /// They were changed, or belong to somebody else.
    case damaged
    /// What was sealed are no valid details.
    case invalid

    package var description: String {
        switch self {
        case .keyMissing(let name):
            "the bank details are sealed by key \(name), which is not in the file of keys"
        case .damaged: "the sealed bank details are damaged"
        case .invalid: "the bank details are not valid: ask the person for them again"
        }
    }
}

extension BankDetails {
    /// As the tables call it.
    package var country: String {
        switch self {
        case .canada: "CA"
        case .unitedStates: "US"
        }
    }

    /// The last digits of the account, by which a person knows it.
    package var hint: String {
        let account =
            switch self {
            case .canada(let account): account.account
            case .unitedStates(let account): account.account
            }
        // Of a short number, fewer digits say too much.
        return "…" + account.suffix(account.utf8.count < 7 ? 2 : 3)
    }
}
