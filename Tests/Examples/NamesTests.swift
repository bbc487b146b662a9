import ErrandTestServices
import Testing

@Suite("Errand beside other packages") struct NamesTests {
    /// SwiftPM wants the names of targets unique over all packages of a program.
    @Test func `its targets have names that no other package has`() async throws {
        let package = SwiftPackage(folder: "Tests/Packages/names")
        try await package.build()
        let app = try Program(package.program("app"), [])
        #expect(try await app.end(within: .seconds(60)) == .exited(0))
        #expect(app.output == "CryptoMark 0 [\"greet\"] hourly\n")
    }
}
