package import ErrandCrypto
import FoundationEssentials
package import ErrandPaymentFiles
package import ErrandPostgres
package import ErrandSealing

/// Seals, stores and opens people's bank details.
package struct BankBook: Sendable {
    private let keys: SealingKeys

    /// - Parameter keys: the keys that seal and open bank details.
    package init(sealing keys: SealingKeys) { self.keys = keys }

    /// The sealed columns: people's bank details, and their copies in the items of files.
    package static let sealed = [
        SealedColumn(
            "payouts.bank_details", "sealed", key: [.init("person_id", "bigint")],
            context: contextInSQL),
        SealedColumn(
            "payouts.items", "sealed",
            key: [.init("file_id", "bigint"), .init("payout_id", "bigint")],
            context: contextInSQL),
    ]

    /// The sealing context names the person, so that details cannot be moved to another row.
    private static let contextInSQL = "'payouts.bank_details/' || person_id"
    private static func context(_ person: Int64) -> String { "payouts.bank_details/\(person)" }

    private static let write = "SELECT payouts.set_bank_details($1, $2, $3, $4)"

    /// Stores a person's bank details.
    ///
    /// - Throws: `PostgresError` with SQLSTATE 23503 if the person does not exist.
    package func write(_ details: BankDetails, of person: Int64, _ session: Session) async throws {
        _ = try await session.query(
            Self.write,
            [
                .int64(person), .text(details.country), .bytes(try seal(details, of: person)),
                .text(details.hint),
            ])
    }

    /// Whether the key is available.
    package func hasKey(named name: String) -> Bool { keys.names.contains(name) }

    /// Seals the details of a person.
    package func seal(_ details: BankDetails, of person: Int64) throws -> [UInt8] {
        let bytes = Array(try JSONEncoder().encode(details))
        return try keys.seal(SecretBytes(bytes), context: Self.context(person))
    }

    /// Opens sealed details.
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

/// Why bank details cannot be read; never contains them.
package enum UnreadableBankDetails: Error, Equatable, CustomStringConvertible {
    /// The key that sealed them is missing.
    case keyMissing(String)
    /// They were changed or moved from another person.
    case damaged
    /// The opened details are not valid.
    case invalid

    package var description: String {
        switch self {
        case .keyMissing(let name):
            "the bank details are sealed by key \(name), which is not in the key file"
        case .damaged: "the sealed bank details are damaged"
        case .invalid: "the bank details are not valid: ask the person for them again"
        }
    }
}

extension BankDetails {
    /// The country code in the tables.
    package var country: String {
        switch self {
        case .canada: "CA"
        case .unitedStates: "US"
        }
    }

    /// The last digits of the account, for people to recognize it.
    package var hint: String {
        let account =
            switch self {
            case .canada(let account): account.account
            case .unitedStates(let account): account.account
            }
        // Show fewer digits of a short number.
        return "…" + account.suffix(account.utf8.count < 7 ? 2 : 3)
    }
}
