import ErrandPaymentFiles
import ErrandPostgres
import ErrandSealing

/// The files that an issue of a run's pending payouts would create now.
package struct IssuePlan: Sendable, Equatable {
    /// Payouts of one method and currency.
    package struct Part: Sendable, Equatable {
        package var method: PayoutMethod
        package var currency: String
        package var payouts: Int
        /// Minor units.
        package var amount: Int64

        package init(method: PayoutMethod, currency: String, payouts: Int, amount: Int64) {
            self.method = method
            self.currency = currency
            self.payouts = payouts
            self.amount = amount
        }
    }

    /// Sorted by currency and method.
    package var parts: [Part] = []

    private static let pending = """
        SELECT p.currency, p.method::text AS method, d.country,
            \(BankBook.sealed[0].keyName) AS key_name, count(*) AS payouts,
            sum(p.amount)::bigint AS amount
        FROM payouts.payouts p LEFT JOIN payouts.bank_details d
            ON d.person_id = p.person_id AND d.refused_at IS NULL
        WHERE p.run_id = $1 AND p.state = 'pending' GROUP BY 1, 2, 3, 4
        """

    /// Plans the issue of a run's pending payouts.
    ///
    /// - Throws: ``PayoutError/refused(_:hint:)`` if the profile or a key is incomplete.
    static func read(
        run: Int64, profile: IssueProfile, book: BankBook, _ session: Session
    ) async throws -> IssuePlan {
        var plan = IssuePlan()
        let choice = MethodChoice(profile: profile)
        // Not prepared: a rare query over all pending payouts.
        for row in try await session.query(pending, [.int64(run)], prepare: false) {
            let currency = try row.text("currency")
            let asked: PayoutMethod? =
                try row.optionalText("method") == nil ? nil : try row.state("method")
            let method = choice.method(
                asked: asked, country: try row.optionalText("country"), currency: currency)
            let count = Int(try row.int64("payouts"))
            guard profile.series(of: method, currency) != nil else {
                throw PayoutError.refused(
                    "the payout profile has no \(IssueProfile.key(of: method, currency)), "
                        + "but \(count) payouts in \(currency) need it",
                    hint: "Add it to the profile; nothing was changed.")
            }
            if method != .cheque, let key = try row.optionalText("key_name"),
                !book.hasKey(named: key)
            {
                throw missingKey(.keyMissing(key))
            }
            plan.add(
                Part(
                    method: method, currency: currency, payouts: count,
                    amount: try row.int64("amount")))
        }
        plan.parts.sort { ($0.currency, $0.method.rawValue) < ($1.currency, $1.method.rawValue) }
        for part in plan.parts { try fits(part) }
        return plan
    }

    /// Checks that the payouts fit into one file.
    private static func fits(_ part: Part) throws(PayoutError) {
        let most: (payouts: Int, amount: Int64)
        switch part.method {
        case .aft: most = (AFTFile.mostPayments, AFTFile.mostTotal)
        case .nacha: most = (NACHAFile.mostPayments, NACHAFile.mostTotal)
        case .cheque: return
        }
        guard part.payouts > most.payouts || part.amount > most.amount else { return }
        throw .refused(
            "\(part.payouts) payouts of \(part.amount) minor units of \(part.currency) exceed the "
                + "limits of a file of method \(part.method.rawValue): "
                + "\(most.payouts) of \(most.amount)",
            hint: "Hold some of them, issue the run, release them and issue it again.")
    }

    static func missingKey(_ error: UnreadableBankDetails) -> PayoutError {
        .refused(error.description, hint: "Add the key to the key file and issue the run again.")
    }

    private mutating func add(_ part: Part) {
        let place = parts.firstIndex {
            $0.method == part.method && $0.currency == part.currency
        }
        guard let place else { return parts.append(part) }
        parts[place].payouts += part.payouts
        parts[place].amount += part.amount
    }
}
