import ErrandCommand
import ErrandTestServices
import Testing

@Suite("Metrics of modules", .database) struct ModuleMetricsTests {
    private struct Trial: Module {
        struct Broken: Error {}

        let migrations: MigrationLine
        let families: [String]?

        init(_ name: String, _ families: [String]?) {
            migrations = MigrationLine(module: name, files: [])
            self.families = families
        }

        func metrics(of context: ModuleContext) async throws -> [MetricFamily] {
            guard let families else { throw Broken() }
            return families.map { MetricFamily($0, .gauge, "Of a trial", 1) }
        }
    }

    private static func metrics(
        _ modules: Trial...
    ) async throws -> (names: [String], failure: String?) {
        let session = try TestDatabase.here().session()
        let result = await Modules(modules).metrics(session, environment: [:])
        return (result.families.map(\.name), result.failure)
    }

    @Test func `those of all modules are there`() async throws {
        let result = try await Self.metrics(Trial("a", ["a_x", "a_y"]), Trial("b", ["b_x"]))
        #expect(result.names == ["a_x", "a_y", "b_x"])
        #expect(result.failure == nil)
    }

    @Test func `a module that fails takes no other with it, and is named`() async throws {
        let result = try await Self.metrics(Trial("a", nil), Trial("b", ["b_x"]))
        #expect(result.names == ["b_x"])
        #expect(result.failure == "a: Broken()")
    }

    @Test func `a metric in another's name is left out`() async throws {
        let result = try await Self.metrics(Trial("a", ["a_x", "errand_up", "ab"]))
        #expect(result.names == ["a_x"])
        #expect(result.failure == "metric errand_up of module a: the name must begin with a_")
    }

    @Test func `a module that is not installed is not asked`() async throws {
        struct Absent: Module {
            let migrations = MigrationLine(
                module: "absent", files: [.init("tables/001_a.sql", "CREATE SCHEMA absent")])
            func metrics(of context: ModuleContext) async throws -> [MetricFamily] {
                throw Trial.Broken()
            }
        }
        let session = try TestDatabase.here().session()
        let result = await Modules([Absent()]).metrics(session, environment: [:])
        #expect(result.families.isEmpty && result.failure == nil)
    }
}
