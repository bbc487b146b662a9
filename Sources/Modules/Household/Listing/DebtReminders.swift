import Errand
import ErrandNotification
package import ErrandPostgres

/// What an operator has people reminded of in the name of a room-mate, with its lines of the audit.
package struct DebtReminders: Sendable {
    private let session: Session
    private let actor: String

    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    // Behind one who waits for a lock others wait too: not for long.
    private static let limit = Statement("SET LOCAL lock_timeout = '5s'")

    /// Asks that some people are reminded of what they owe a person, all or none of them.
    ///
    /// The policy of reminders decides whether and when each is notified.
    /// - Throws: ``HouseholdError`` for what the schema refuses, such as one who owes nothing.
    package func ask(
        for creditor: Int64, of debtors: [Int64], reason: String?
    ) async throws {
        let lines = debtors.map { debtor in
            AuditLine(
                operatorName: actor, action: "household remind",
                subject: "person \(debtor) of a debt to person \(creditor)", reason: reason)
        }
        let asked = debtors.map { debtor in
            Statement(
                "SELECT reason FROM household.remind_debtors($1, $2)",
                [.int64(creditor), .int64(debtor)])
        }
        do {
            try await session.transaction { session in
                let answers = try session.pipeline([Self.limit] + asked + lines.map(\.statement))
                for (debtor, answer) in zip(debtors, answers.dropFirst()) {
                    if try answer.first?.text(0) == "nothing_owed" {
                        throw HouseholdError.conflict("person \(debtor) owes you nothing")
                    }
                }
            }
        } catch let error as PostgresError {
            throw HouseholdError(error) ?? error
        }
    }
}

extension DebtReminders {
    /// The kind of notice by which people are reminded of debts.
    package static let notice = NoticeKind.householdDebtReminder.name
    /// What it is about, for the policy: the group's id comes behind it, and who reminds whom is
    /// known beside it.
    static let subjectPrefix = "household_debt:"
}

extension DebtRecord {
    /// What a reminder of it is about.
    package var subject: String { DebtReminders.subjectPrefix + "\(group)" }
}
