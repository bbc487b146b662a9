import ErrandNotification
import ErrandPostgres

/// Notices of balances that wait for a better time of somebody's day, such as the end of quiet
/// hours.
enum HeldBalances {
    /// Updates them with the current debts after money of a group has moved; people who owe
    /// nothing are not notified.
    static func renew(of group: Int64, in transaction: Transaction) async throws {
        let people = try await transaction.query(NewsStatements.everybody, [.int64(group)])
            .map { try $0.int64(0) }
        let held = try await HeldNotices.find(
            of: NewsStatements.duesSubject, to: people, in: transaction)
        guard !held.isEmpty else { return }
        let data = held.map { String(decoding: $0.data, as: UTF8.self) }
        let owed = try await transaction.query(
            NewsStatements.currentBalances, [.int64Array(held.map(\.person)), .textArray(data)]
        ).map { try $0.optionalText(0) }
        let notices = zip(held, owed)
        let owing = notices.compactMap { notice, data in data.map { (notice.id, $0) } }
        try await HeldNotices.amend(owing.map(\.0), owing.map(\.1), in: transaction)
        let even = notices.filter { $0.1 == nil }.map(\.0.person)
        guard !even.isEmpty else { return }
        try await HeldNotices.withdraw(
            of: [NewsStatements.duesSubject], to: even, because: "nothing is owed any more",
            in: transaction)
    }
}
