/// An item of a bank's return file: a returned or rejected payment, or a notice of change.
package struct ReturnedDeposit: Sendable, Equatable {
    /// The kind of the item.
    package enum Kind: String, Sendable, CaseIterable {
        /// The bank returned the money.
        case returned
        /// The bank rejected the payment while reading our file.
        case rejected
        /// The bank paid it and requests other details for the next payment (Nacha, from C01).
        case change
    }

    /// The kind of the item.
    package var kind: Kind
    /// Our reference; empty if the bank omitted it.
    package var reference: String
    /// The trace number of our payment.
    package var trace: String
    /// Minor units.
    package var amount: Int64
    /// Whether it was a payment to the person, not a debit.
    package var isCredit: Bool
    /// The reason of the return.
    package var reason: ReturnReason
    /// The number of the record in the file, from 1.
    package var record: Int
}

/// The reason of a return, and the action to take.
package struct ReturnReason: Sendable, Equatable {
    /// The action to take.
    package enum Action: String, Sendable, CaseIterable {
        /// The bank details are wrong: stop deposits to them, and ask the person for new ones.
        case askForDetails = "ask-for-details"
        /// An operator must check it before a new payment.
        case review = "review"
        /// Our file was wrong: correct the error, then send a new payment.
        case fixOurFile = "fix-our-file"
    }

    /// Three digits in Canada (Standard 007); from `R01` or `C01` in the United States.
    package var code: String
    /// A short description.
    package var meaning: String
    /// The action to take.
    package var action: Action

    private init(_ code: String, _ meaning: String, _ action: Action) {
        self.code = code
        self.meaning = meaning
        self.action = action
    }

    /// Returns the reason of a code; an operator must check unknown ones.
    package static func named(_ code: String) -> ReturnReason {
        all[code] ?? ReturnReason(code, "unknown reason", .review)
    }

    private static let all: [String: ReturnReason] = {
        let codes = canadian + american + changes
        return Dictionary(uniqueKeysWithValues: codes.map { ($0.code, $0) })
    }()

    /// The reasons of Standard 007; two public lists differ in the text of 902.
    ///
    /// Reasons for debits are included, so that files with them can be parsed.
    private static let canadian: [ReturnReason] = [
        .init("900", "refused while reading our file", .fixOurFile),
        .init("901", "not sufficient funds", .review),
        .init("902", "account not found", .askForDetails),
        .init("903", "stopped or recalled", .review),
        .init("904", "stale or post-dated", .fixOurFile),
        .init("905", "account closed", .askForDetails),
        .init("907", "no debit allowed", .review),
        .init("908", "funds not cleared", .review),
        .init("909", "currency and account do not match", .askForDetails),
        .init("910", "payee deceased", .review),
        .init("911", "account frozen", .review),
        .init("912", "invalid account number", .askForDetails),
        .init("914", "incorrect payee name", .askForDetails),
        .init("915", "agreement disputed", .review),
        .init("916", "not in accordance with the agreement, personal", .review),
        .init("917", "agreement revoked, personal", .review),
        .init("918", "no pre-notification, personal", .review),
        .init("919", "not in accordance with the agreement, business", .review),
        .init("920", "agreement revoked, business", .review),
        .init("921", "no pre-notification, business", .review),
        .init("990", "institution in default", .review),
    ]

    /// The reasons for returned credits (Nacha Operating Rules, appendix four).
    private static let american: [ReturnReason] = [
        .init("R02", "account closed", .askForDetails),
        .init("R03", "no account, or not this person's", .askForDetails),
        .init("R04", "invalid account number", .askForDetails),
        .init("R06", "returned at our bank's request", .review),
        .init("R12", "branch sold to another bank", .askForDetails),
        .init("R13", "routing number not valid", .askForDetails),
        .init("R14", "representative payee deceased", .review),
        .init("R15", "account holder deceased", .review),
        .init("R16", "account frozen", .review),
        .init("R17", "refused while reading the entry", .fixOurFile),
        .init("R18", "effective date not possible", .fixOurFile),
        .init("R19", "amount field wrong", .fixOurFile),
        .init("R20", "account takes no payments", .askForDetails),
        .init("R21", "company identification not valid", .fixOurFile),
        .init("R22", "individual identification not valid", .fixOurFile),
        .init("R23", "refused by the person", .review),
        .init("R24", "duplicate entry", .review),
        .init("R25", "addenda wrong", .fixOurFile),
        .init("R26", "mandatory field wrong", .fixOurFile),
        .init("R27", "trace number wrong", .fixOurFile),
        .init("R28", "routing number's check digit wrong", .askForDetails),
        .init("R32", "bank cannot settle", .review),
        .init("R34", "bank's participation is limited", .review),
    ]

    /// Notifications of change: the payment was made.
    private static let changes: [ReturnReason] = [
        .init("C01", "account number changes", .askForDetails),
        .init("C02", "routing number changes", .askForDetails),
        .init("C03", "routing and account number change", .askForDetails),
        .init("C04", "name changes", .review),
        .init("C05", "kind of account changes", .askForDetails),
        .init("C06", "account number and kind change", .askForDetails),
        .init("C07", "routing, account number and kind change", .askForDetails),
        .init("C09", "individual identification changes", .review),
        .init("C10", "company name changes", .fixOurFile),
        .init("C11", "company identification changes", .fixOurFile),
        .init("C12", "company name and identification change", .fixOurFile),
    ]
}

/// A syntax error of a bank's file: the position, but never the content.
package struct ReturnFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The record, counted from 1.
    package var record: Int
    /// The byte in the record, counted from 1.
    package var column: Int
    /// The expected content.
    package var expected: String

    /// The error message.
    package var description: String {
        "record \(record), column \(column): expected \(expected); nothing was changed"
    }
}
