package import ErrandPaymentFiles

/// The payout profile: the company and its agreements with banks, from an operator's JSON file.
///
/// ```
/// {
///   "company": {"name": "Sondages inc.", "address": ["1 rue Une", "Montréal QC  H2X 1Y4"]},
///   "aft": {"CAD": {"originator_id": "…", "data_centre": "…", "direct_clearer": "…",
///     "short_name": "…", "long_name": "…",
///     "return_account": {"institution": "…", "transit": "…", "account": "…"}}},
///   "nacha": {"destination": "…", "destination_name": "…", "origin": "…", "origin_name": "…",
///     "company_name": "…", "company_id": "…", "odfi": "…"},
///   "cheques": {"CAD": {"bank": "…", "account": "…", "first_number": 1}}
/// }
/// ```
///
/// Every part but the company is optional; a run that needs a missing part is not issued.
package struct IssueProfile: Sendable, Equatable {
    /// The settings for cheques of one currency.
    package struct Cheques: Sendable, Equatable {
        package var issuer: ChequeIssuer
        /// The form of the bank's list of cheques.
        package var register: ChequeRegister.Form
        /// The first number of the current stock of cheque paper.
        package var firstNumber: Int64
    }

    /// The name on statements and cheques.
    package var company: String
    package var address: [String]
    /// By currency, CAD or USD.
    package var aft: [String: AFTProfile] = [:]
    package var nacha: NACHAProfile?
    /// By currency, CAD or USD.
    package var cheques: [String: Cheques] = [:]
    /// The first number of files, by series.
    var firstNumbers: [String: Int64] = [:]

    /// Parses the file.
    ///
    /// - Throws: ``PayoutError/invalid(_:)``, which names the key but never its value.
    package init(json: [UInt8]) throws(PayoutError) {
        let reader = try ProfileReader(json)
        try reader.allow(["company", "aft", "nacha", "cheques"])
        let company = try reader.object("company")
        try company.allow(["name", "address"])
        self.company = try company.text("name")
        guard (1...80).contains(self.company.count) else {
            throw company.refusal("name", "a name of up to 80 letters")
        }
        address = try company.texts("address", atMost: 3)
        if reader.has("aft") {
            let all = try reader.object("aft")
            for currency in all.keys { try addAFT(all, currency) }
        }
        if reader.has("nacha") { try addNACHA(reader) }
        if reader.has("cheques") {
            let all = try reader.object("cheques")
            for currency in all.keys { try addCheques(all, currency) }
        }
    }

    private mutating func addAFT(
        _ all: ProfileReader, _ currency: String
    ) throws(PayoutError) {
        let part = try all.object(currency)
        try part.allow([
            "originator_id", "data_centre", "direct_clearer", "short_name", "long_name",
            "return_account", "transaction_code", "trace_number", "settlement_code", "line_ends",
            "first_file_number",
        ])
        let home = try part.object("return_account")
        try home.allow(["institution", "transit", "account"])
        let account: CanadianAccount
        let parts = (
            try home.text("institution"), try home.text("transit"), try home.text("account")
        )
        do throws(BankDetailsError) {
            account = try CanadianAccount(
                institution: parts.0, transit: parts.1, account: parts.2)
        } catch {
            throw .invalid("\(home.path): \(error)")
        }
        let profile = AFTProfile(
            originatorID: try part.text("originator_id"),
            dataCentre: try part.text("data_centre"),
            directClearer: try part.text("direct_clearer"),
            shortName: try part.text("short_name"), longName: try part.text("long_name"),
            returnAccount: account, transactionCode: try part.text("transaction_code", or: "450"),
            traceNumber: try part.word("trace_number", or: .structured),
            settlementCode: try part.text("settlement_code", or: ""), currency: currency,
            endsLines: try part.flag("line_ends", or: true))
        try Self.check(part) { () throws(PaymentFileError) in try profile.check() }
        aft[currency] = profile
        firstNumbers[Self.series(of: profile)] = try part.number(
            "first_file_number", or: 1, in: 1...9_999)
    }

    private mutating func addNACHA(_ reader: ProfileReader) throws(PayoutError) {
        let part = try reader.object("nacha")
        try part.allow([
            "destination", "destination_name", "origin", "origin_name", "company_name",
            "company_id", "odfi", "entry_description", "entry_class", "cr_lf",
        ])
        let profile = NACHAProfile(
            destination: try part.text("destination"),
            destinationName: try part.text("destination_name"),
            origin: try part.text("origin"), originName: try part.text("origin_name"),
            companyName: try part.text("company_name"), companyID: try part.text("company_id"),
            odfi: try part.text("odfi"),
            entryDescription: try part.text("entry_description", or: "PAYOUT"),
            entryClass: try part.word("entry_class", or: .personal),
            endsLinesWithCR: try part.flag("cr_lf", or: false))
        try Self.check(part) { () throws(PaymentFileError) in try profile.check() }
        nacha = profile
    }

    private mutating func addCheques(
        _ all: ProfileReader, _ currency: String
    ) throws(PayoutError) {
        let part = try all.object(currency)
        try part.allow(["bank", "bank_address", "account", "register", "first_number"])
        let issuer = ChequeIssuer(
            name: company, address: address, bank: try part.text("bank"),
            bankAddress: try part.texts("bank_address", atMost: 2),
            account: try part.text("account"), currency: currency)
        try Self.check(part) { () throws(PaymentFileError) in try issuer.check() }
        cheques[currency] = Cheques(
            issuer: issuer, register: try part.word("register", or: .issues),
            firstNumber: try part.number("first_number", or: 1, in: 1...Cheque.mostNumber))
    }

    private static func check(
        _ part: ProfileReader, _ body: () throws(PaymentFileError) -> Void
    ) throws(PayoutError) {
        do throws(PaymentFileError) { try body() } catch {
            throw .invalid("\(part.path): \(error)")
        }
    }

    // MARK: Series of numbers

    static func series(of profile: AFTProfile) -> String {
        "aft:\(profile.originatorID):\(profile.currency)"
    }

    /// The number series of a method's files or cheques; nil if the profile lacks the method.
    func series(of method: PayoutMethod, _ currency: String) -> (name: String, first: Int64)? {
        switch method {
        case .aft:
            guard let profile = aft[currency] else { return nil }
            let name = Self.series(of: profile)
            return (name, firstNumbers[name] ?? 1)
        case .nacha:
            guard currency == "USD", let nacha else { return nil }
            return ("nacha:\(nacha.origin)", 1)
        case .cheque:
            guard let part = cheques[currency] else { return nil }
            // The last digits distinguish accounts and are not secret.
            return ("cheque:\(currency):…\(part.issuer.account.suffix(4))", part.firstNumber)
        }
    }

    /// The profile key of a method.
    static func key(of method: PayoutMethod, _ currency: String) -> String {
        switch method {
        case .aft: "aft.\(currency)"
        case .nacha: "nacha"
        case .cheque: "cheques.\(currency)"
        }
    }
}
