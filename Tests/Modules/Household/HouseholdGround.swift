import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// People, and a group of the first of them.
struct HouseholdGround: Sendable {
    let pool: Pool
    let session: Session

    /// - Parameters:
    ///   - people: ids from 1.
    ///   - members: the first so many live together, in group 1; 0 makes no group.
    init(people: Int = 12, members: Int = 3) async throws {
        let database = try TestDatabase.here()
        pool = database.pool(12)
        session = database.session()
        _ = try await session.query(
            "INSERT INTO people.people (id) SELECT n FROM generate_series(1, $1) n",
            [.int64(Int64(people))])
        guard members > 0 else { return }
        try await call("create_group(1, 'Flat 7', 'America/Toronto')")
        guard members > 1 else { return }
        for person in 2...Int64(members) { try await join(person) }
    }

    /// Invites somebody into the group of another one, and lets them accept.
    func join(_ person: Int64, of host: Int64 = 1) async throws {
        let invitation = try await number("SELECT household.invite(\(host), \(person))")
        try await call("accept(\(person), \(invitation))")
    }

    // MARK: Calling

    /// Calls a function of the schema; its result as text.
    @discardableResult
    func call(_ call: String, in other: Session? = nil) async throws -> String {
        try await (other ?? session).query("SELECT (household.\(call))::text").first?
            .optionalText(0) ?? "null"
    }

    /// The rows of a function, each as the text of a record.
    func rows(_ call: String, _ columns: String = "f") async throws -> [String] {
        try await texts("SELECT (\(columns))::text FROM household.\(call) f")
    }

    func number(_ sql: String) async throws -> Int64 {
        try await session.query(sql).int64(0, 0)
    }

    func texts(_ sql: String) async throws -> [String] {
        try await session.query(sql).map { try $0.optionalText(0) ?? "null" }
    }

    /// What a function of the schema refuses a call with: its reason, or for mistakes its state,
    /// and its words.
    func refusal(_ call: String) async throws -> String? {
        do throws(PostgresError) {
            _ = try await session.query("SELECT household.\(call)")
            return nil
        } catch {
            guard case .server(let refused) = error else { throw error }
            let reason = refused.sqlState == "RU001" ? refused.detail : nil
            return "\(reason ?? refused.sqlState): \(refused.message)"
        }
    }

    /// What the server refuses a statement with.
    func sqlState(_ sql: String, in other: Session? = nil) async throws -> String? {
        do throws(PostgresError) {
            _ = try await (other ?? session).query(sql)
            return nil
        } catch { return error.sqlState }
    }

    // MARK: Looking

    /// The events that were asked to be told, in their order.
    func told() async throws -> [String] {
        try await texts(
            "SELECT args ->> 'event' FROM errand.jobs WHERE kind = 'household.notify' ORDER BY id")
    }

    /// Who owes whom, as debtor, creditor and amount.
    func balances(_ group: Int64 = 1) async throws -> [String] {
        try await texts(
            """
            SELECT debtor_id || ' owes ' || creditor_id || ' ' || amount
            FROM household.balances(ARRAY[\(group)]) ORDER BY debtor_id, creditor_id
            """)
    }

    /// The shares of a bill's present revision, in the order of persons.
    func shares(_ bill: Int64) async throws -> [Int64] {
        try await session.query(
            """
            SELECT s.amount FROM household.shares s JOIN household.bills b
                ON b.id = s.bill_id AND b.revision = s.revision
            WHERE b.id = $1 ORDER BY s.person_id
            """, [.int64(bill)]
        ).map { try $0.int64(0) }
    }

    @discardableResult
    func bill(
        _ person: Int64, _ amount: Int64, _ persons: [Int64], _ more: String = ""
    ) async throws -> Int64 {
        try await number(
            """
            SELECT household.add_bill(\(person), 'Power', \(amount), ARRAY\(persons)::bigint[],
                gen_random_uuid()::text, '2026-11-20' \(more.isEmpty ? "" : ", " + more))
            """)
    }

    /// Adds a chore of every day from the first of January 2027 on, and says when it comes first.
    func chore(_ person: Int64 = 1, _ more: String = "") async throws -> Int64 {
        let chore = try await number(
            """
            SELECT household.add_chore(\(person), 'Dishes', '2027-01-01', 'FREQ=DAILY'
                \(more.isEmpty ? "" : ", " + more))
            """)
        #expect(try await call("plan_chore(\(chore), 1, '2027-01-01', '2027-01-01Z')") == "true")
        return chore
    }

    /// Takes the next occurrence of a daily chore; its id.
    func take(_ chore: Int64) async throws -> Int64 {
        try await number(
            """
            SELECT household.take(c.id, c.next_on, c.next_at + interval '1 day', c.next_on + 1,
                c.next_at + interval '1 day')
            FROM household.chores c WHERE c.id = \(chore)
            """)
    }

    /// Takes the next ones, and says whose they are; 0 is nobody.
    func turns(_ chore: Int64, _ count: Int) async throws -> [Int64] {
        var assignees: [Int64] = []
        for _ in 0..<count {
            let occurrence = try await take(chore)
            assignees.append(
                try await number(
                    "SELECT coalesce(assignee_id, 0) FROM household.occurrences "
                        + "WHERE id = \(occurrence)"))
        }
        return assignees
    }
}
