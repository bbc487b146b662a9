import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

/// "Establishments and branches have no function and no documentation": what the servers of apps
/// call, each test as a login of `errand_app`.
@Suite("Establishments", .database) struct EstablishmentTests {
    let session: Session

    init() async throws {
        session = try await TestDatabase.here().login(as: "errand_app").session
    }

    private func ask(_ call: String) async throws -> [String] {
        try await session.query("SELECT to_json(x)::text FROM establishments.\(call) AS x")
            .map { try $0.text(0) }
    }

    private func refusal(_ statement: String) async throws -> String? {
        do throws(PostgresError) {
            _ = try await session.query(statement)
            return nil
        } catch { return error.sqlState }
    }

    private func refusal(of call: String) async throws -> String? {
        try await refusal("SELECT * FROM establishments.\(call)")
    }

    @Test func `an establishment is added once, renamed, closed and opened again`() async throws {
        #expect(try await ask("put_establishment(id => 7, name => 'Café')") == ["true"])
        #expect(try await ask("put_establishment(id => 7, name => 'Café')") == ["false"])
        #expect(try await ask("put_establishment(id => 7, name => 'Café Rachel')") == ["false"])
        #expect(try await ask("put_branch(3, 7, 'Rue Rachel', -73.57, 45.52)") == ["true"])
        let list = "SELECT id, name, closed_at IS NULL FROM establishments.listing()"
        func listed() async throws -> [String] {
            try await session.query(list).map {
                "\(try $0.int64(0)) \(try $0.text(1)) \(try $0.bool(2))"
            }
        }
        #expect(try await listed() == ["7 Café Rachel true"])
        let closed = try await ask("close_establishment(7)")
        #expect(try await ask("close_establishment(7)") == closed)
        #expect(try await listed() == ["7 Café Rachel false"])
        #expect(try await ask("nearby(-73.57, 45.52)").isEmpty)
        #expect(try await ask("put_establishment(7, 'Café Rachel')") == ["false"])
        #expect(try await listed() == ["7 Café Rachel true"])
        // Which of its branches are open again, the app says.
        #expect(try await ask("nearby(-73.57, 45.52)").isEmpty)
        #expect(try await ask("put_branch(3, 7, 'Rue Rachel', -73.57, 45.52)") == ["false"])
        #expect(try await ask("nearby(-73.57, 45.52)").count == 1)
    }

    @Test func `no branch of a closed establishment is opened`() async throws {
        _ = try await ask("put_establishment(7, 'Café Rachel')")
        _ = try await ask("put_branch(3, 7, 'Rue Rachel', -73.57, 45.52)")
        _ = try await ask("close_establishment(7)")
        for branch in [3, 4] {
            #expect(
                try await refusal(of: "put_branch(\(branch), 7, 'Rue Rachel', -73.57, 45.52)")
                    == "RU001")
        }
        #expect(try await ask("nearby(-73.57, 45.52)").isEmpty)
        _ = try await ask("put_establishment(7, 'Café Rachel')")
        #expect(try await ask("put_branch(4, 7, 'Rue Rachel', -73.57, 45.52)") == ["true"])
        #expect(try await ask("nearby(-73.57, 45.52)").count == 1)
    }

    private static let close =
        "SELECT close_establishment::text FROM "
        + "establishments.close_establishment(7)"
    private static let add =
        "SELECT put_branch::text FROM "
        + "establishments.put_branch(4, 7, 'Rue Ontario', -73.55, 45.53)"

    @Test(arguments: [(close, add), (add, close)])
    func `a branch that is added while its establishment closes is closed too`(
        first: String, second: String
    ) async throws {
        _ = try await ask("put_establishment(7, 'Café Rachel')")
        do {
            _ = try await TestDatabase.here().overlap(first, second)
            #expect(second == Self.close)
        } catch let error as PostgresError { #expect(error.sqlState == "RU001") }
        #expect(try await ask("nearby(-73.55, 45.53)").isEmpty)
    }

    @Test func `a branch is added once, moved, and stays with its establishment`() async throws {
        _ = try await ask("put_establishment(7, 'Café Rachel')")
        _ = try await ask("put_establishment(8, 'Bar')")
        #expect(try await ask("put_branch(3, 7, 'Rue Rachel', -73.57, 45.52)") == ["true"])
        #expect(try await ask("put_branch(3, 7, 'Rue Rachel', -73.57, 45.52)") == ["false"])
        #expect(try await refusal(of: "put_branch(3, 8, 'x', -73.57, 45.52)") == "23505")
        _ = try await ask("put_branch(3, 7, 'Rue Ontario', -73.55, 45.53)")
        let branches = try await session.query(
            "SELECT id, name, longitude, latitude, closed_at FROM establishments.branches_of(7)")
        let branch = try #require(branches.first)
        #expect(branches.count == 1)
        #expect(try branch.int64("id") == 3 && branch.text("name") == "Rue Ontario")
        #expect(try branch.double("longitude") == -73.55 && branch.double("latitude") == 45.53)
        let closed = try await ask("close_branch(3)")
        #expect(try await ask("close_branch(3)") == closed)
    }

    @Test func `the nearest open branches come first, within the radius`() async throws {
        for id in 1...2 { _ = try await ask("put_establishment(\(id), 'Shop \(id)')") }
        for id in 1...6 {
            // Each some 1,100 meters farther to the north.
            let latitude = 45 + Double(id) / 100
            _ = try await ask("put_branch(\(id), \(1 + id % 2), 'Branch \(id)', -73, \(latitude))")
        }
        _ = try await ask("close_branch(2)")
        func near(_ arguments: String) async throws -> [Int64] {
            try await session.query("SELECT id FROM establishments.nearby(-73, 45, \(arguments))")
                .map { try $0.int64(0) }
        }
        #expect(try await near("200000") == [1, 3, 4, 5, 6])
        #expect(try await near("4000") == [1, 3])
        #expect(try await near("200000, max_rows => 2") == [1, 3])
        #expect(try await near("200000, establishment => 1") == [4, 6])
        let first = try await session.query(
            "SELECT establishment_name, name, distance_m FROM establishments.nearby(-73, 45)")
        #expect(try first.text(0, 0) == "Shop 2" && first.text(0, 1) == "Branch 1")
        #expect(try (1_100...1_120).contains(first.double(0, 2)))
    }

    @Test(arguments: [
        ("put_establishment(0, 'x')", "22023"), ("put_establishment(1, '')", "22023"),
        ("put_establishment(1, E'a\\nb')", "22023"), ("put_establishment(NULL, 'x')", "22023"),
        ("put_branch(1, 7, 'x', 0, 0)", "23503"), ("put_branch(1, 7, 'x', 181, 0)", "22023"),
        ("put_branch(1, 7, 'x', 0, 'NaN')", "22023"), ("put_branch(1, 7, NULL, 0, 0)", "22023"),
        ("close_establishment(7)", "23503"), ("close_branch(7)", "23503"),
        ("nearby(0, 91)", "22023"), ("nearby(0, 0, 0)", "22023"),
    ])
    func `a mistake is named`(call: String, state: String) async throws {
        #expect(try await refusal(of: call) == state)
    }

    @Test func `an app's login reads and writes no table`() async throws {
        _ = try await ask("put_establishment(7, 'Café Rachel')")
        for table in ["establishments", "branches"] {
            for statement in [
                "SELECT * FROM establishments.\(table)", "DELETE FROM establishments.\(table)",
                "UPDATE establishments.\(table) SET name = 'x'",
                "INSERT INTO establishments.\(table) (name) VALUES ('x')",
            ] { #expect(try await refusal(statement) == "42501", "\(statement)") }
        }
    }

    @Test func `no coupon is granted for a closed establishment`() async throws {
        _ = try await ask("put_establishment(7, 'Café Rachel')")
        _ = try await ask("close_establishment(7)")
        _ = try await session.query(
            "SELECT people.put_person(1, '{\"birth_date\": \"1990-05-17\"}')")
        #expect(
            try await refusal(
                "SELECT coupons.grant_coupon(1, 7, 'A tea', now() + interval '1 day', 'o')")
                == "RU001")
    }
}
