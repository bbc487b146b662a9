package import Errand
import ErrandPaymentFiles
package import ErrandPostgres

/// The result of applying a return file.
package struct ReturnResult: Sendable, Equatable {
    /// An item that needs an operator's attention.
    package struct Item: Sendable, Equatable {
        /// The reference in our file; empty if the bank omitted it.
        package var reference: String
        /// Minor units.
        package var amount: Int64
        /// The number of the record in the file, from 1.
        package var record: Int
        /// Why it was skipped, or the next step.
        package var why: String
    }

    /// The number of returned payouts, including those reissued by cheque.
    package var returned = 0
    /// The number of payouts reissued by cheque.
    package var byCheque = 0
    /// The number of returns that were already recorded.
    package var known = 0
    /// Returned payouts that need a decision.
    package var toDecide: [Item] = []
    /// Items that match no payout and were skipped.
    package var unmatched: [Item] = []

    package init() {}
}

/// Records returned payouts: the money returns to the person's balance, the person is notified,
/// and if the bank details were wrong, a cheque replaces the deposit.
package struct ReturnedPayouts: Sendable {
    private let pool: Pool
    private let client: JobClient
    private let actor: String

    /// - Parameter actor: the operator, 1 to 200 characters.
    package init(pool: Pool, client: JobClient, actor: String) {
        self.pool = pool
        self.client = client
        self.actor = actor
    }

    private static let find = """
        SELECT p.amount, p.method::text AS method, p.state::text AS state
        FROM payouts.payouts p WHERE p.id = $1
        """
    private static let take = "SELECT payouts.take_return($1, $2, $3, $4, $5)"

    /// Applies a return file of a Canadian bank; repeating it changes nothing.
    ///
    /// - Throws: `ReturnFileError` if the file is malformed; nothing is changed then.
    package func apply(aft bytes: [UInt8]) async throws -> ReturnResult {
        try await apply(try AFTReturns(bytes).items, method: .aft)
    }

    /// Applies a return file of a bank in the United States; repeating it changes nothing.
    ///
    /// - Throws: `ReturnFileError` if the file is malformed; nothing is changed then.
    package func apply(nacha bytes: [UInt8]) async throws -> ReturnResult {
        try await apply(try NACHAReturns(bytes).items, method: .nacha)
    }

    /// Records the return of a single payout.
    ///
    /// - Parameters:
    ///   - code: the bank's return code, such as 905 or R02; nil for an undeliverable cheque.
    ///   - note: the reason for the history; required without a code.
    /// - Returns: the new state; nil if the return was already recorded.
    /// - Throws: ``PayoutError``
    package func takeBack(
        _ payout: Int64, code: String?, note: String?
    ) async throws -> PayoutState? {
        var words = "undeliverable"
        var isRefused = false
        if let code {
            let known = ReturnReason.named(code)
            let digits = code.hasPrefix("R") ? code.dropFirst() : code[...]
            guard digits.count == (code.hasPrefix("R") ? 2 : 3), Int(digits) != nil else {
                throw PayoutError.invalid("code \(code): expected one such as 905 or R02")
            }
            isRefused = known.action == .askForDetails
            words = Self.words(known)
        } else if note == nil {
            throw PayoutError.invalid("a return needs a code, or a reason of up to 500 characters")
        }
        switch try await take(payout, words, isRefused: isRefused, note: note) {
        case .known: return nil
        case .returned: return .returned
        case .cheque: return .reissued
        }
    }

    // MARK: Items

    /// The result of `payouts.take_return`.
    private enum Outcome: String, Sendable {
        case known
        case returned
        case cheque
    }

    private func apply(
        _ items: [ReturnedDeposit], method: PayoutMethod
    ) async throws -> ReturnResult {
        var result = ReturnResult()
        for item in items {
            try Task.checkCancellation()
            try await apply(item, method, &result)
        }
        return result
    }

    private func apply(
        _ item: ReturnedDeposit, _ method: PayoutMethod, _ result: inout ReturnResult
    ) async throws {
        func note(_ why: String) -> ReturnResult.Item {
            ReturnResult.Item(
                reference: item.reference, amount: item.amount, record: item.record, why: why)
        }
        let payout: Int64
        switch try await match(item, method) {
        case .payout(let id): payout = id
        case .none(let why): return result.unmatched.append(note(why))
        }
        let outcome: Outcome
        do {
            outcome = try await take(
                payout, Self.words(item.reason),
                isRefused: item.reason.action == .askForDetails)
        } catch let refusal as PayoutError {
            return result.unmatched.append(note(refusal.description))
        }
        switch outcome {
        case .known: result.known += 1
        case .cheque:
            result.returned += 1
            result.byCheque += 1
        case .returned:
            result.returned += 1
            result.toDecide.append(note(Self.advice(item.reason)))
        }
    }

    /// Records a return in one transaction: postings, replacement cheque and the notice's job.
    private func take(
        _ payout: Int64, _ words: String, isRefused: Bool, note: String? = nil
    ) async throws -> Outcome {
        try await pool.transaction { transaction in
            let text = try await transaction.payoutQuery(
                Self.take,
                [
                    .int64(payout), .text(actor), .text(words), .bool(isRefused),
                    .optional(note),
                ]
            ).text(0, 0)
            guard let outcome = Outcome(rawValue: text) else {
                throw PostgresError.decoding("unknown outcome \(text)")
            }
            if outcome != .known {
                try await client.enqueue(NotifyOfPayouts.jobs(.returned, [payout]), in: transaction)
            }
            return outcome
        }
    }

    private enum Match: Sendable {
        case payout(Int64)
        case none(String)
    }

    private func match(_ item: ReturnedDeposit, _ method: PayoutMethod) async throws -> Match {
        guard item.kind != .change else {
            return .none("\(Self.words(item.reason)): paid; ask the person for new bank details")
        }
        guard item.isCredit else { return .none("not ours: the item is a debit") }
        guard let id = PayoutReference.id(of: item.reference) else {
            return .none("the reference is not a payout's")
        }
        let found = try await pool.withSession { session in
            try await session.query(Self.find, [.int64(id)])
        }
        guard let row = found.first else { return .none("there is no payout \(id)") }
        let (amount, paid) = (try row.int64("amount"), try row.optionalText("method"))
        guard amount == item.amount else {
            return .none("payout \(id) has another amount: \(amount) minor units")
        }
        guard paid == method.rawValue, try row.text("state") != "pending" else {
            return .none("payout \(id) was not paid by a file of this kind")
        }
        return .payout(id)
    }

    /// Such as `905 account closed`.
    private static func words(_ reason: ReturnReason) -> String {
        "\(reason.code) \(reason.meaning)"
    }

    private static func advice(_ reason: ReturnReason) -> String {
        let next =
            switch reason.action {
            case .askForDetails: "a cheque cannot replace it: check the payee and the balance"
            case .review: "check it before you reissue it"
            case .fixOurFile: "correct the error in our file, then reissue it"
            }
        return "\(words(reason)); \(next)"
    }
}
