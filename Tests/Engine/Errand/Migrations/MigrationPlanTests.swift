@testable import Errand
import Testing

@Suite("Which modules are migrated, and in which order") struct MigrationPlanTests {
    private static func line(_ module: String, _ needs: String...) -> MigrationLine {
        MigrationLine(
            module: module, needs: needs,
            files: [.init("tables/001_x.sql", "CREATE SCHEMA \(module)")])
    }

    private static let modules = [
        line("shop", "ledger", "people"), line("ledger", "people"), line("people"), line("chat"),
    ]

    @Test func `each comes after those that it needs, the engine first`() throws {
        let order = try MigrationPlan(Self.modules).lines.map(\.module)
        #expect(order == ["engine", "people", "ledger", "shop", "chat"])
    }

    @Test(
        "what is asked for comes with what it needs, what is installed stays",
        arguments: [
            (installed: [], adding: [], expected: ["engine"]),
            (["engine"], ["ledger"], ["engine", "people", "ledger"]),
            (["engine", "chat"], ["shop"], ["engine", "people", "ledger", "shop", "chat"]),
            (["engine", "other"], ["chat"], ["engine", "chat"]),
        ] as [(installed: [String], adding: [String], expected: [String])])
    func selection(installed: [String], adding: [String], expected: [String]) throws {
        let lines = try MigrationPlan(Self.modules)
            .lines(installed: Set(installed), adding: adding)
        #expect(lines.map(\.module) == expected)
    }

    @Test func `a name that no module has is refused with those that there are`() throws {
        let plan = try MigrationPlan(Self.modules)
        let error = #expect(throws: MigrationError.self) {
            try plan.lines(installed: [], adding: ["chat", "shops"])
        }
        #expect(
            error?.description
                == "there is no module 'shops': modules: people, ledger, shop, chat, all")
    }

    @Test func `a module that needs one that is not there is refused`() {
        let error = #expect(throws: MigrationError.self) {
            try MigrationPlan([Self.line("shop", "ledger")])
        }
        #expect(error?.description.contains("shop needs the module ledger") == true)
    }

    @Test func `modules that need each other are refused`() {
        let error = #expect(throws: MigrationError.self) {
            try MigrationPlan([Self.line("a", "b"), Self.line("b", "a")])
        }
        #expect(error?.description.contains("a → b → a") == true)
    }

    @Test func `rights come last, whatever the names of the other files`() {
        let line = MigrationLine(
            module: "m",
            files: [
                .init("routines/rights.sql", "a"), .init("routines/zebra.sql", "b"),
                .init("tables/002_b.sql", "c"), .init("tables/001_a.sql", "d"),
            ])
        #expect(
            line.files.map(\.path) == [
                "tables/001_a.sql", "tables/002_b.sql", "routines/zebra.sql",
                "routines/rights.sql",
            ])
    }

    @Test(
        "a checksum is FNV-1a of 64 bits, by its published vectors",
        arguments: [
            ("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8"),
        ])
    func checksum(text: String, expected: String) {
        #expect(MigrationLine.File("tables/001_x.sql", text).checksum == expected)
    }

    @Test(arguments: [["engine"], ["errand"], ["shop", "shop"]])
    func `a name that is taken is refused`(_ names: [String]) {
        let error = #expect(throws: MigrationError.self) {
            try MigrationPlan(names.map { MigrationLine(module: $0, files: []) })
        }
        #expect(error?.description.contains("two modules are called \(names[0])") == true)
    }
}
