package import Errand
import ErrandPaymentFiles
package import ErrandPostgres

/// What has become of the items of a file from a bank.
package struct ReturnResult: Sendable, Equatable {
    /// An item that somebody has to look at.
    package struct Item: Sendable, Equatable {
        /// What it was called in our file; empty if the bank left it out.
        package var reference: String
        /// Minor units.
        package var amount: Int64
        /// The record of the file, counted from 1.
        package var record: Int
        /// Why it was not taken, or what is to be done.
        package var why: String
    }

    /// The money is the person's again; those that are paid by a cheque are among them.
    package var returned = 0
    /// Paid anew by a cheque.
    package var byCheque = 0
    /// They were noted before.
    package var known = 0
    /// Returned, and waiting for somebody to decide what becomes of them.
    package var toDecide: [Item] = []
    /// Nothing was changed for these.
    package var unmatched: [Item] = []

    package init() {}
}

/// Takes note of deposits that came back: the money is the person's again, the person is told,
/// and where the bank details were wrong a cheque is to pay it.
package struct ReturnedPayouts: Sendable {
    private let pool: Pool
    private let client: JobClient
    private let actor: String

    /// - Parameter actor: who takes note, 1 to 200 characters.
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

    /// Reads a file of returns from a Canadian bank; the same file again changes nothing.
    ///
    /// - Throws: `ReturnFileError` when it cannot be read; nothing of it was taken then.
    package func apply(aft bytes: [UInt8]) async throws -> ReturnResult {
        try await apply(try AFTReturns(bytes).items, method: .aft)
    }

    /// Reads a file of returns from a bank in the United States; the same file again changes
    /// nothing.
    ///
    /// - Throws: `ReturnFileError` when it cannot be read; nothing of it was taken then.
    package func apply(nacha bytes: [UInt8]) async throws -> ReturnResult {
        try await apply(try NACHAReturns(bytes).items, method: .nacha)
    }

    /// Takes a payout back by hand.
    ///
    /// - Parameters:
    ///   - code: the bank's, such as 905 or R02; nil for a cheque that the post brought back.
    ///   - note: why, for the record; it may be nil where there is a code.
    /// - Returns: what became of it; nil when that was noted before.
    /// - Throws: ``PayoutError``
    package func takeBack(
        _ payout: Int64, code: String?, note: String?
    ) async throws -> PayoutState? {
        var words = "it came back"
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

    /// What `payouts.take_return` says.
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

    /// One transaction: the money, the cheque instead, and the job that tells the person.
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
                throw PostgresError.decoding("outcome \(text) is unknown to this version")
            }
            if outcome != .known {
                try await client.enqueue(TellOfPayouts.jobs(.returned, [payout]), in: transaction)
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
            return .none("\(Self.words(item.reason)): it was paid; ask the person for the details")
        }
        guard item.isCredit else { return .none("it is a debit, and we make none") }
        guard let id = PayoutReference.id(of: item.reference) else {
            return .none("the reference is none of ours")
        }
        let found = try await pool.withSession { session in
            try await session.query(Self.find, [.int64(id)])
        }
        guard let row = found.first else { return .none("there is no payout \(id)") }
        let (amount, paid) = (try row.int64("amount"), try row.optionalText("method"))
        guard amount == item.amount else {
            return .none("payout \(id) is of another amount: \(amount) minor units")
        }
        guard paid == method.rawValue, try row.text("state") != "pending" else {
            return .none("payout \(id) was not paid by such a file")
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
            case .askForDetails: "a cheque cannot replace it: look at the payee and the balance"
            case .lookAtIt: "look at it before it is paid again"
            case .mendOurFile: "mend what was wrong in our file, then pay it again"
            }
        return "\(words(reason)); \(next)"
    }
}
