/// A payment that a bank has sent back, or wants done otherwise.
package struct ReturnedDeposit: Sendable, Equatable {
    /// What happened to it.
    package enum Kind: String, Sendable, CaseIterable {
        /// The money comes back.
        case returned
        /// It was never sent: the bank refused it while reading our file.
        case rejected
        /// It was paid, and the bank asks for other details the next time (Nacha, C01 on).
        case change
    }

    /// What happened to it.
    package var kind: Kind
    /// The reference that we gave it; empty if the bank left it out.
    package var reference: String
    /// The trace number of our payment, as the bank repeats it.
    package var trace: String
    /// Minor units.
    package var amount: Int64
    /// Whether it was a payment to the person; a debit came back otherwise.
    package var isCredit: Bool
    /// Why.
    package var reason: ReturnReason
    /// Where it stands in the file: the record, counted from 1.
    package var record: Int
}

/// Why a payment came back, and what is to be done.
package struct ReturnReason: Sendable, Equatable {
    /// What is to be done.
    package enum Action: String, Sendable, CaseIterable {
        /// The bank details are wrong: never pay to them again, and ask the person for others.
        case askForDetails = "ask-for-details"
        /// A person looks at it before any money is sent again.
        case lookAtIt = "look-at-it"
        /// Our own file was wrong: mend that, and send a new payment.
        case mendOurFile = "mend-our-file"
    }

    /// Three digits in Canada (Standard 007), `R01` and on or `C01` and on in the United States.
    package var code: String
    /// What it means, in a few words.
    package var meaning: String
    /// What is to be done.
    package var action: Action

    private init(_ code: String, _ meaning: String, _ action: Action) {
        self.code = code
        self.meaning = meaning
        self.action = action
    }

    /// By its code; one that is not known is looked at by a person.
    package static func named(_ code: String) -> ReturnReason {
        all[code] ?? ReturnReason(code, "a reason that is not known here", .lookAtIt)
    }

    private static let all: [String: ReturnReason] = {
        let codes = canadian + american + changes
        return Dictionary(uniqueKeysWithValues: codes.map { ($0.code, $0) })
    }()

    /// Standard 007; two public lists differ in the words for 902.
    ///
    /// Those for debits only are here so that a file that has them can be read.
    private static let canadian: [ReturnReason] = [
        .init("900", "refused while reading our file", .mendOurFile),
        .init("901", "not sufficient funds", .lookAtIt),
        .init("902", "account not found", .askForDetails),
        .init("903", "stopped or recalled", .lookAtIt),
        .init("904", "stale or post-dated", .mendOurFile),
        .init("905", "account closed", .askForDetails),
        .init("907", "no debit allowed", .lookAtIt),
        .init("908", "funds not cleared", .lookAtIt),
        .init("909", "currency and account do not match", .askForDetails),
        .init("910", "payee deceased", .lookAtIt),
        .init("911", "account frozen", .lookAtIt),
        .init("912", "invalid account number", .askForDetails),
        .init("914", "incorrect payee name", .askForDetails),
        .init("915", "agreement disputed", .lookAtIt),
        .init("916", "not in accordance with the agreement, personal", .lookAtIt),
        .init("917", "agreement revoked, personal", .lookAtIt),
        .init("918", "no pre-notification, personal", .lookAtIt),
        .init("919", "not in accordance with the agreement, business", .lookAtIt),
        .init("920", "agreement revoked, business", .lookAtIt),
        .init("921", "no pre-notification, business", .lookAtIt),
        .init("990", "institution in default", .lookAtIt),
    ]

    /// Those that credits come back with (Nacha Operating Rules, appendix four).
    private static let american: [ReturnReason] = [
        .init("R02", "account closed", .askForDetails),
        .init("R03", "no account, or not this person's", .askForDetails),
        .init("R04", "invalid account number", .askForDetails),
        .init("R06", "returned at our bank's request", .lookAtIt),
        .init("R12", "branch sold to another bank", .askForDetails),
        .init("R13", "routing number not valid", .askForDetails),
        .init("R14", "representative payee deceased", .lookAtIt),
        .init("R15", "account holder deceased", .lookAtIt),
        .init("R16", "account frozen", .lookAtIt),
        .init("R17", "refused while reading the entry", .mendOurFile),
        .init("R18", "effective date not possible", .mendOurFile),
        .init("R19", "amount field wrong", .mendOurFile),
        .init("R20", "account takes no payments", .askForDetails),
        .init("R21", "company identification not valid", .mendOurFile),
        .init("R22", "individual identification not valid", .mendOurFile),
        .init("R23", "refused by the person", .lookAtIt),
        .init("R24", "duplicate entry", .lookAtIt),
        .init("R25", "addenda wrong", .mendOurFile),
        .init("R26", "mandatory field wrong", .mendOurFile),
        .init("R27", "trace number wrong", .mendOurFile),
        .init("R28", "routing number's check digit wrong", .askForDetails),
        .init("R32", "bank cannot settle", .lookAtIt),
        .init("R34", "bank's participation is limited", .lookAtIt),
    ]

    /// Notifications of change: the payment was made.
    private static let changes: [ReturnReason] = [
        .init("C01", "account number changes", .askForDetails),
        .init("C02", "routing number changes", .askForDetails),
        .init("C03", "routing and account number change", .askForDetails),
        .init("C04", "name changes", .lookAtIt),
        .init("C05", "kind of account changes", .askForDetails),
        .init("C06", "account number and kind change", .askForDetails),
        .init("C07", "routing, account number and kind change", .askForDetails),
        .init("C09", "individual identification changes", .lookAtIt),
        .init("C10", "company name changes", .mendOurFile),
        .init("C11", "company identification changes", .mendOurFile),
        .init("C12", "company name and identification change", .mendOurFile),
    ]
}

/// Why a file from a bank cannot be read; never holds what stands there, only where.
package struct ReturnFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The record, counted from 1.
    package var record: Int
    /// The byte in it, counted from 1.
    package var column: Int
    /// What was expected there.
    package var expected: String

    /// What a person can do about it.
    package var description: String {
        "record \(record), column \(column): expected \(expected); nothing of the file was taken"
    }
}
