import ErrandNotification
import ErrandKeys
import FoundationEssentials
import Errand
import ErrandCommand
import ErrandPaymentFiles
import ErrandPostgres
import ErrandTerminal

/// Who is paid, and where to.
enum PayoutDetailCommands {
    static let all = [payee, enter]

    private static let payee = Command(
        "payout", "payee", effect: .looks, summary: "Show how and where a person is paid",
        discussion: "Of a bank account, the last digits alone are shown.",
        examples: [.init("errand payout payee 42", "by deposit or by cheque")],
        arguments: [PayoutWords.person]
    ) { invocation in
        try await show(invocation[PayoutWords.person], invocation)
        return .done
    }

    private static func show(_ person: Int, _ invocation: Invocation) async throws {
        guard let payee = try await Payee.read(Int64(person), try invocation.session()) else {
            throw NotificationWords.unknown(person: person)
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
        "from", placeholder: "FILE", help: "A JSON object in a file, or in standard input (-)"
    )
    private static let forget = Option.flag(
        "forget-bank", help: "Forget the bank account: cheques from now on")
    /// More than any of these takes.
    private static let longest = 64 * 1_024

    /// What the file holds.
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
        "payout", "enter", effect: .changes,
        summary: "Write down a person's name, address and bank account",
        discussion: """
            The object has name and address (up to 4 lines), or bank, or all of them. bank has \
            institution, transit and account in Canada; routing, account and kind (checking or \
            savings) in the United States. It is checked, and sealed by the first key of \
            ERRAND_KEYS_FILE. Numbers are read from a file, never from the command line, where \
            others would see them.
            """,
        examples: [
            .init("errand payout enter 42 --from details.json", "asks first"),
            .init("errand payout enter 42 --forget-bank", "cheques from now on"),
        ],
        options: [file, forget, AuditOptions.reason], arguments: [PayoutWords.person]
    ) { invocation in
        let person = invocation[PayoutWords.person]
        let session = try invocation.session()
        guard try await Payee.read(Int64(person), session) != nil else {
            throw NotificationWords.unknown(person: person)
        }
        let details = try invocation[file].map(read)
        let bank = try bank(details, invocation)
        guard details?.name != nil || bank != nil || invocation[forget] else {
            throw CommandFailure(
                exit: .usage, message: "there is nothing to write down",
                hint: "--from names a file with name and address, or bank")
        }
        let book =
            bank == nil
            ? nil : BankBook(sealing: try KeySettings.needed(invocation.environment))
        try invocation.confirm("change how person \(person) is paid?")
        try await PayoutWords.refusing {
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
            throw CommandFailure(exit: .usage, message: "name is given, and address is missing")
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
        // What went wrong is not repeated: it would show what stands there.
        guard let details = try? JSONDecoder().decode(Details.self, from: Data(bytes)) else {
            throw CommandFailure(
                exit: .usage, message: "\(path) is no JSON object of the expected form",
                hint: "'errand payout enter --help' tells what it has")
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
            subject: "person \(invocation[PayoutWords.person])",
            reason: invocation[AuditOptions.reason],
            change: try AuditLine.json(["changed": parts.joined(separator: ", ")]))
        _ = try await session.query(line.statement)
    }
}
