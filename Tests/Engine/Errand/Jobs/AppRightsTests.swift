@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// App servers log in with the rights of `errand_app`: the Swift client needs no more.
@Suite("The Swift client with an app server's rights", .database) struct AppRightsTests {
    @Test func `it enqueues one, many, with keys and in a transaction of its own`() async throws {
        let ground = try await RulesGround()
        let database = try TestDatabase.here()
        let (session, name) = try await database.login(as: "errand_app")
        await session.close()
        _ = try await ground.session.query(
            """
            INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts, for_apps)
            VALUES ($1, 1, 'default', 2, 20, true), ($2, 1, 'default', 2, 20, true)
            """, [.text(Plain.kind), .text(Note.kind)])
        let pool = Pool(
            SessionSettings(database.url.replacing("//errand@", with: "//\(name)@"), name: "app"),
            limit: 4)
        for redis in [nil, database.redis] {
            let client = try await JobClient(pool: pool, redis: redis)
            let one = try await client.enqueue(Plain(n: 1))
            let later = try await client.enqueue(Plain(n: 2), .init(in: .seconds(60)))
            let many = try await client.enqueue((3...9).map { Plain(n: $0) })
            let key = redis == nil ? "k" : "l"
            let first = try await client.enqueue(Note(text: "a"), .init(unique: Unique(key)))
            let second = try await client.enqueue(
                Note(text: "b"), .init(unique: Unique(key, onDuplicate: .replace)))
            #expect(first.result == .inserted && second.result == .replaced)
            _ = try await pool.transaction { transaction in
                try await client.enqueue(Plain(n: 10), in: transaction)
            }
            await client.flush()
            #expect(Set([one.id, later.id] + many.map(\.id)).count == 9)
        }
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 22)
    }
}
