import Foundation
import ErrandTestServices
import Testing

/// Where the private server listens, as the current test's URL has it.
struct ServerSocket {
    let folder: String
    let port: String
    let database: String
    var path: String { "\(folder)/.s.PGSQL.\(port)" }

    init() throws {
        let parts = URLComponents(string: try TestDatabase.here().url)
        let items = try #require(parts?.queryItems)
        folder = try #require(items.first { $0.name == "host" }?.value)
        port = items.first { $0.name == "port" }?.value ?? "5432"
        database = String(try #require(parts?.path.dropFirst()))
    }
}
