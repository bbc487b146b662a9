import FoundationEssentials
import ErrandGregorian
import ErrandPaymentFiles
import ErrandPostgres

/// A pending payout with its payee and bank details.
struct PendingPayout: Sendable {
    var id: Int64
    var person: Int64
    var amount: Int64
    var currency: String
    /// The requested method; nil for any.
    var method: PayoutMethod?
    /// The name of the payee; nil if missing.
    var payee: String?
    var address: [String]
    var payeeAt: Instant?
    /// Sealed bank details that no bank has refused.
    var sealed: [UInt8]?
    var country: String?
    var detailsAt: Instant?
}

/// Chooses the method of a payout by the profile and the person's bank details.
struct MethodChoice: Sendable {
    let profile: IssueProfile

    /// - Parameters:
    ///   - asked: the requested method, if any.
    ///   - country: the country of the bank details; nil without any.
    func method(asked: PayoutMethod?, country: String?, currency: String) -> PayoutMethod {
        if let asked { return asked }
        let method: PayoutMethod =
            switch country {
            case "CA": .aft
            case "US": .nacha
            default: .cheque
            }
        return profile.series(of: method, currency) == nil ? .cheque : method
    }
}

/// Checks whether payouts can be paid by the chosen method, by formatting them as in the files.
struct PayoutCheck {
    let profile: IssueProfile
    let book: BankBook
    let issuedOn: CivilDate
    let payDate: CivilDate
    private var deposits: [String: AFTFile] = [:]
    private var entries: NACHAFile?
    private var registers: [String: ChequeRegister] = [:]
    private var scratch: [UInt8] = []

    init(profile: IssueProfile, book: BankBook, issue: IssueRecord) {
        self.profile = profile
        self.book = book
        issuedOn = issue.issuedOn
        payDate = issue.payDate
    }

    /// Returns why a payout cannot be paid by a method; nil if it can.
    ///
    /// - Throws: ``PayoutError/refused(_:hint:)`` if the key of the details is missing, which is
    ///   not a fault of the payout.
    mutating func problem(
        of payout: PendingPayout, by method: PayoutMethod
    ) throws -> String? {
        guard let payee = payout.payee else { return "name and address are missing" }
        defer { scratch.removeAll(keepingCapacity: true) }
        do {
            switch method {
            case .cheque:
                try checkCheque(payout, payee)
            case .aft, .nacha:
                guard let sealed = payout.sealed else {
                    return "a deposit was requested, but bank details are missing"
                }
                let deposit = Deposit(
                    reference: PayoutReference.text(of: payout.id), payee: payee,
                    amount: payout.amount, account: try book.open(sealed, of: payout.person))
                try checkDeposit(deposit, method, payout.currency)
            }
        } catch let error as UnreadableBankDetails {
            if case .keyMissing = error { throw IssuePlan.missingKey(error) }
            return error.description
        } catch let error as PaymentFileError {
            return Self.reason(error)
        }
        // The writers leave out what they cannot print, which might name somebody else.
        return PrintableText.problem(ofName: payee)
            ?? (method == .cheque ? PrintableText.problem(ofAddress: payout.address) : nil)
    }

    private mutating func checkCheque(_ payout: PendingPayout, _ payee: String) throws {
        guard let part = profile.cheques[payout.currency] else { return }
        // Its number is not known yet; any number will do for the check.
        try Cheque(
            number: 1, amount: payout.amount, date: payDate, payee: payee,
            address: payout.address, memo: "", lines: []
        ).check()
        var register =
            try registers[payout.currency]
            ?? ChequeRegister(account: part.issuer.account, form: part.register)
        let kept = register
        try register.add(
            number: 1, amount: payout.amount, date: payDate, payee: payee, to: &scratch)
        registers[payout.currency] = kept
    }

    private mutating func checkDeposit(
        _ deposit: Deposit, _ method: PayoutMethod, _ currency: String
    ) throws {
        if method == .nacha {
            guard let settings = profile.nacha else { return }
            var file =
                try entries
                ?? NACHAFile(
                    settings, modifier: "A", created: issuedOn, effective: payDate, to: &scratch)
            let kept = file
            try file.add(deposit, to: &scratch)
            entries = kept
        } else {
            guard let settings = profile.aft[currency] else { return }
            var file =
                try deposits[currency]
                ?? AFTFile(
                    settings, number: 1, created: issuedOn, paid: payDate, to: &scratch)
            let kept = file
            try file.add(deposit, to: &scratch)
            deposits[currency] = kept
        }
    }

    /// The error message without the reference of the payment.
    private static func reason(_ error: PaymentFileError) -> String {
        let text = error.description
        guard case .badPayment(let reference, _) = error else { return text }
        for prefix in ["payment \(reference): "] where text.hasPrefix(prefix) {
            return String(text.dropFirst(prefix.count))
        }
        return text
    }
}
