import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// PostgreSQL over TLS as `deploy/postgres` says: the certificate is verified with its name, the
/// password is SCRAM, and `pg_hba.conf` lets in nobody else.
@Suite("Encrypted PostgreSQL", .serialized, .database) struct EncryptedServerTests {
    private static let password = "a password, typed once"

    /// Turns TLS on at the servers of `RoleGround`, with the lines of `pg_hba.conf` before the
    /// server's own; gives the folder with the authority's certificate.
    private func encrypt(_ ground: RoleGround) async throws -> URL {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-tls-\(UUID().uuidString.prefix(8))")
        try await run(
            "/bin/sh",
            RoleGround.checkout.appending(path: "Tests/Simulators/servers/make_cert.sh").path,
            folder.path, "127.0.0.1")
        let data = try #require(try await ground.list("SHOW data_directory").first)
        // The server's user must own its key.
        for (file, place) in [("cert.pem", "tls.crt"), ("key.pem", "tls.key")] {
            let path = "\(data)/\(place)"
            try await run("/bin/cp", folder.appending(path: file).path, path)
            try await run("/bin/chown", "--reference=\(data)/PG_VERSION", path)
            try await run("/bin/chmod", "600", path)
        }
        let lines = try String(
            contentsOf: RoleGround.checkout.appending(path: "deploy/postgres/pg_hba.conf"),
            encoding: .utf8
        ).split(separator: "\n").filter { $0.hasPrefix("host") }
            .joined(separator: "\n").replacing(" errand    ", with: " \(ground.database) ")
        // The test's own way in stays: sockets, without a password.
        try "local all all trust\n\(lines)\n".write(
            toFile: "\(data)/pg_hba.conf", atomically: true, encoding: .utf8)
        try await run("/bin/chown", "--reference=\(data)/PG_VERSION", "\(data)/pg_hba.conf")
        let session = ground.session("errand")
        for setting in ["ssl = on", "ssl_cert_file = 'tls.crt'", "ssl_key_file = 'tls.key'"] {
            _ = try await session.query("ALTER SYSTEM SET \(setting)", prepare: false)
        }
        for login in ["errand_work", "errand_look"] {
            _ = try await session.query(
                "ALTER ROLE \(login) PASSWORD '\(Self.password)'", prepare: false)
        }
        _ = try await session.query("SELECT pg_reload_conf()")
        await session.close()
        return folder
    }

    private func run(_ words: String...) async throws {
        let program = try Program(words[0], Array(words.dropFirst()))
        let end = try await program.end(within: .seconds(60))
        guard end == .exited(0) else {
            throw Program.Trouble("\(words): \(end)\n\(program.errors)")
        }
    }

    @Test func `with verify-full a worker and an inspector do their work`() async throws {
        let ground = try await RoleGround.shared
        let folder = try await encrypt(ground)
        let port = try #require(try await ground.list("SHOW port").first)
        let authority = folder.appending(path: "ca.pem").path
        let secret = Self.password.replacing(" ", with: "%20")
        func url(_ login: String, _ settings: String, host: String = "127.0.0.1") -> String {
            "postgresql://\(login):\(secret)@\(host):\(port)/\(ground.database)?\(settings)"
        }
        let verified = "sslmode=verify-full&sslrootcert=\(authority)"
        func look(_ url: String) async throws -> Run {
            try await errand("queue", "ls", environment: ["DATABASE_URL": url])
        }
        try await eventually("the server has read its settings") {
            try await look(url("errand_look", verified)).code == 0
        }
        let session = Session(SessionSettings(url("errand_look", verified), name: "tls"))
        let row = try await session.query(
            "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        #expect(try row.bool(0, 0) && row.text(0, 1) == "TLSv1.3")
        await session.close()
        try await errand(
            "work", "--drain",
            environment: ["DATABASE_URL": url("errand_work", verified), "REDIS_URL": ground.redis]
        ).expect(0)

        try await expectWarnings(secret, authority) { settings, host in
            ["DATABASE_URL": url("errand_look", settings, host: host), "REDIS_URL": ground.redis]
        }

        // Another name than the certificate's, another authority, no TLS, a superuser, another
        // database, a wrong password.
        let stranger = folder.appending(path: "stranger").path
        try await run(
            "/bin/sh",
            RoleGround.checkout.appending(path: "Tests/Simulators/servers/make_cert.sh").path,
            stranger, "127.0.0.1")
        for refused in [
            url("errand_look", verified, host: "localhost"),
            url("errand_look", "sslmode=verify-full&sslrootcert=\(stranger)/ca.pem"),
            url("errand_look", "sslmode=disable"), url("errand", verified),
            url("errand_look", verified).replacing("/\(ground.database)?", with: "/postgres?"),
            url("errand_look", verified).replacing(secret, with: "wrong"),
        ] {
            let run = try await look(refused)
            #expect(run.code == 6, "\(run)")
            #expect(!run.errors.contains(secret) && !run.errors.contains(Self.password))
        }
        let hashes = try await ground.list(
            "SELECT rolpassword FROM pg_authid WHERE rolpassword NOT LIKE 'SCRAM-SHA-256$%'")
        #expect(hashes == [])
    }

    /// The doctor warns of a server elsewhere that is not verified; a name elsewhere leads here.
    private func expectWarnings(
        _ secret: String, _ authority: String,
        _ environment: (_ settings: String, _ host: String) -> [String: String]
    ) async throws {
        let (there, elsewhere) = ("hostaddr=127.0.0.1", "db.example.com")
        for (settings, host, variables, expected) in [
            (
                "\(there)&sslmode=require", elsewhere, [:],
                "is encrypted, but the server is not verified"
            ),
            (there, elsewhere, [:], "(sslmode prefer)"),
            // A name, not an address of this machine.
            (there, "127.example.com", [:], "(sslmode prefer)"),
            // The certificate's authority is verified, and its name is not.
            (
                "\(there)&sslmode=verify-ca&sslrootcert=\(authority)", elsewhere, [:],
                "(sslmode verify-ca)"
            ),
            (there, elsewhere, ["PGSSLMODE": "require"], "(sslmode require)"),
            (
                there, elsewhere, ["PGSSLMODE": "verify-ca", "PGSSLROOTCERT": authority],
                "(sslmode verify-ca)"
            ),
            (there, elsewhere, ["PGSSLMODE": "allow"], "(sslmode allow)"),
            // The URL overrides the variable.
            (
                "\(there)&sslmode=require", elsewhere,
                ["PGSSLMODE": "verify-full", "PGSSLROOTCERT": authority], "(sslmode require)"
            ),
            ("sslmode=require", "127.0.0.1", [:], nil),
            ("connect_timeout=9", "127.0.0.1", ["PGSSLMODE": "require"], nil),
        ] as [(String, String, [String: String], String?)] {
            let run = try await errand(
                "doctor", "-ojson",
                environment: environment(settings, host).merging(variables) { $1 })
            let finding = try run.records.first { $0["check"] == "encryption" }
            let severity: JSON = expected == nil ? "ok" : "warning"
            #expect(finding?["severity"] == severity, "\(run)")
            if let expected {
                #expect(finding?["message"].text?.contains(expected) == true, "\(run)")
                #expect(finding?["remedy"].text?.contains("sslmode=verify-full") == true)
            }
            #expect(!run.output.contains(secret))
        }
    }
}
