import ErrandNotification
import ErrandKeys
import FoundationEssentials
import Errand
import ErrandCommand
import ErrandPaymentFiles
import ErrandPostgres
import ErrandTerminal

/// `errand payout payee` and `enter`: names, addresses and bank details.
enum PayoutDetailCommands {
    static let all = [payee, enter]

    private static let payee = Command(
        "payout", "payee", effect: .read, summary: "Show how and where a person is paid",
        discussion: "Shows only the last digits of a bank account.",
        examples: [.init("errand payout payee 42", "deposit or cheque, and the address")],
        arguments: [PayoutFormatting.person]
    ) { invocation in
        try await show(invocation[PayoutFormatting.person], invocation)
        return .done
    }

    private static func show(_ person: Int, _ invocation: Invocation) async throws {
        guard let payee = try await Payee.read(Int64(person), try invocation.session()) else {
            throw NotificationFormatting.unknown(person: person)
        }
        let isDeposit = payee.bankHint != nil && payee.refusedFor == nil
        try invocation.output.show(
            Record([
                ("person", .id(person)), ("name", .optional(payee.name) { .text($0) }),
                ("address", .list(payee.address)),
                ("pays_by", .text(isDeposit ? "deposit" : "cheque")),
                ("bank_account", .optional(payee.bankHint) { .text($0) }),
                ("country", .optional(payee.bankCountry) { .text($0) }),
                ("refused_for", .optional(payee.refusedFor) { .text($0) }),
            ]))
    }

    // MARK: enter

    private static let file = Option<String?>.text(
        "from", placeholder: "FILE", help: "Read a JSON object from FILE, or standard input (-)"
    )
    private static let forget = Option.flag(
        "forget-bank", help: "Delete the bank details and pay by cheque")
    /// Maximum size of the file in bytes.
    private static let longest = 64 * 1_024

    /// The content of the file.
    private struct Details: Decodable {
        var name: String?
        var address: [String]?
        var bank: Bank?
    }

    private struct Bank: Decodable {
        var institution: String?
        var transit: String?
        var routing: String?
        var account: String
        var kind: String?

        /// - Throws: ``BankDetailsError``
        func details() throws -> BankDetails {
            if let institution, let transit {
                return .canada(
                    try CanadianAccount(
                        institution: institution, transit: transit, account: account))
            }
            guard let routing else { throw BankDetailsError.routingForm }
            guard let kind else {
                return .canada(try CanadianAccount(routing: routing, account: account))
            }
            guard let named = AmericanAccount.Kind(rawValue: kind) else {
                throw CommandFailure(
                    exit: .usage, message: "bank.kind: expected checking or savings")
            }
            return .unitedStates(
                try AmericanAccount(routing: routing, account: account, kind: named))
        }
    }

    private static let enter = Command(
        "payout", "enter", effect: .write,
        summary: "Set a person's name, address and bank details",
        discussion: """
            The object has name and address (up to 4 lines), bank, or both. bank has institution, \
            transit and account in Canada; routing, account and kind (checking or savings) in the \
            United States. The bank details are validated and sealed with the first key of \
            ERRAND_KEYS_FILE. They are read from a file because other users can see command lines.
            """,
        examples: [
            .init("errand payout enter 42 --from details.json", "asks first"),
            .init("errand payout enter 42 --forget-bank", "pay by cheque"),
        ],
        options: [file, forget, AuditOptions.reason], arguments: [PayoutFormatting.person]
    ) { invocation in
        let person = invocation[PayoutFormatting.person]
        let session = try invocation.session()
        guard try await Payee.read(Int64(person), session) != nil else {
            throw NotificationFormatting.unknown(person: person)
        }
        let details = try invocation[file].map(read)
        let bank = try bank(details, invocation)
        guard details?.name != nil || bank != nil || invocation[forget] else {
            throw CommandFailure(
                exit: .usage, message: "nothing to set",
                hint: "use --from with a file that has name and address, or bank")
        }
        let book =
            bank == nil
            ? nil : BankBook(sealing: try KeySettings.needed(invocation.environment))
        try invocation.confirm("change how person \(person) is paid?")
        try await PayoutFormatting.refusing {
            if invocation[forget] { _ = try await Payee.forgetBank(of: Int64(person), session) }
            if let name = details?.name, let address = details?.address {
                try await Payee.write(
                    name: name, address: address, of: Int64(person), session)
            }
            if let bank { try await book?.write(bank, of: Int64(person), session) }
        }
        try await audit(details, hasBank: bank != nil, session, invocation)
        try await show(person, invocation)
        return .done
    }

    private static func bank(
        _ details: Details?, _ invocation: Invocation
    ) throws -> BankDetails? {
        if details?.name != nil, details?.address == nil {
            throw CommandFailure(exit: .usage, message: "name requires address: address is missing")
        }
        do { return try details?.bank?.details() } catch let error as BankDetailsError {
            throw CommandFailure(exit: .usage, message: "bank: \(error)")
        }
    }

    private static func read(_ path: String) throws -> Details {
        var reader = try LineReader(path: path)
        guard let bytes = try reader.rest(upTo: longest) else {
            throw CommandFailure(exit: .usage, message: "\(path) is longer than 64 KiB")
        }
        // The decoding error is dropped because it would reveal the content.
        guard let details = try? JSONDecoder().decode(Details.self, from: Data(bytes)) else {
            throw CommandFailure(
                exit: .usage, message: "\(path) is not a JSON object of the expected form",
                hint: "'errand payout enter --help' describes it")
        }
        return details
    }

    private static func audit(
        _ details: Details?, hasBank: Bool, _ session: Session, _ invocation: Invocation
    ) async throws {
        var parts: [String] = []
        if invocation[forget] { parts.append("bank forgotten") }
        if details?.name != nil { parts.append("name and address") }
        if hasBank { parts.append("bank") }
        let line = AuditLine(
            operatorName: invocation.operatorName, action: "payout enter",
            subject: "person \(invocation[PayoutFormatting.person])",
            reason: invocation[AuditOptions.reason],
            change: try AuditLine.json(["changed": parts.joined(separator: ", ")]))
        _ = try await session.query(line.statement)
    }
}
