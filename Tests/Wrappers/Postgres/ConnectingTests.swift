import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Connecting", .database) struct ConnectingTests {
    @Test func `a setup that fails leaves no half-made connection`() async throws {
        let url = try TestDatabase.here().url
        let session = Session(
            SessionSettings(url, name: "test", setup: ["SET no_such_setting_at_all = 1"]))
        for _ in 0..<2 {
            let error = await failure { _ = try await session.query("SELECT 1") }
            #expect(error?.sqlState == "42704")
        }
    }

    @Test func `setup statements hold for every connection of the session`() async throws {
        let url = try TestDatabase.here().url
        let session = Session(
            SessionSettings(url, name: "test", setup: ["SET work_mem = '3MB'", "SET jit = off"]))
        for _ in 0..<2 {
            #expect(try await session.query("SHOW work_mem")[0].text(0) == "3MB")
            await session.close()
        }
    }

    @Test func `a missing database is named, with its SQLSTATE`() async throws {
        let url = try TestDatabase.url(of: "no_such_database")
        let error = await failure {
            try await Session(SessionSettings(url, name: "test")).connect()
        }
        #expect(error?.sqlState == "3D000")
        #expect(error?.isTransient == false)
        #expect("\(String(describing: error))".contains("no_such_database"))
    }

    @Test func `a role that does not exist is not taken for a missing database`() async throws {
        let url = try TestDatabase.here().url.replacing("://errand@", with: "://nobody_here@")
        let error = await failure {
            try await Session(SessionSettings(url, name: "test")).connect()
        }
        #expect(error?.sqlState == "28000")
        #expect("\(String(describing: error))".contains("nobody_here"))
    }

    @Test func `a server that is not there is unreachable and named without the password`()
        async throws
    {
        let settings = SessionSettings(
            "postgresql://someone:hunter2@127.0.0.1:1/shop", name: "test")
        let error = await failure { try await Session(settings).connect() }
        #expect(error?.isUnreachable == true)
        #expect(error?.isTransient == true)
        #expect(error?.description.contains("127.0.0.1") == true)
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test(arguments: [
        "postgresql://someone:hunter2@[::1/db", "password=hunter2 nonsense",
        "postgresql://someone:hunter2@host/db?no_such_option=1",
    ])
    func `a malformed URL is refused without repeating its password`(url: String) async throws {
        let error = await failure { try await Session(SessionSettings(url, name: "t")).connect() }
        #expect(error?.isUsage == true)
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test func `the second host answers when the first is not there`() async throws {
        let settings = SessionSettings(
            "host=/nonexistent,\(try ServerSocket().folder) port=\(try ServerSocket().port) "
                + "user=errand dbname=postgres", name: "test")
        let rows = try await Session(settings).query("SELECT current_database()::text")
        #expect(try rows[0].text(0) == "postgres")
    }

    @Test func `a host that accepts and never answers gives way to the next`() async throws {
        let silent = try LocalListener()
        var settings = SessionSettings(
            "host=127.0.0.1,\(try ServerSocket().folder) user=errand dbname=postgres "
                + "port=\(silent.port),\(try ServerSocket().port)", name: "test")
        settings.connectTimeout = .seconds(2)
        let rows = try await Session(settings).query("SELECT current_database()::text")
        #expect(try rows[0].text(0) == "postgres")
    }
}
