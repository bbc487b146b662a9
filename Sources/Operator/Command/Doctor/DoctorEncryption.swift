import ErrandPostgres
import ErrandTerminal

/// The doctor's check that the connection to PostgreSQL cannot be read or redirected.
extension DoctorCommand {
    /// The mode in which libpq verifies the server's certificate and its name.
    private static let verifying = "verify-full"

    /// Warns if the server is on another machine and its certificate is not verified.
    ///
    /// - Returns: nil if a service file of libpq holds the settings.
    static func encryption(_ session: Session, _ invocation: Invocation) async -> Finding? {
        let variables = Variables(all: invocation.environment)
        guard let url = try? invocation.databaseURL(),
            SecretURL.setting("service", of: url) == nil, variables["PGSERVICE"] == nil
        else { return nil }
        // libpq's own default.
        let mode = SecretURL.setting("sslmode", of: url) ?? variables["PGSSLMODE"] ?? "prefer"
        return await guarded("encryption") {
            let place = try await session.place()
            let rows = try await session.query(
                "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            let isEncrypted = try rows.count > 0 && rows.bool(0, 0)
            return encryption(host: host(of: place), mode: mode, isEncrypted: isEncrypted)
        }
    }

    static func encryption(host: String?, mode: String, isEncrypted: Bool) -> Finding {
        guard let host, !isLocal(host) else {
            return Finding(
                check: "encryption", severity: .ok, message: "PostgreSQL is on this machine")
        }
        guard mode != verifying else {
            return Finding(
                check: "encryption", severity: .ok,
                message: "the connection to \(host) is encrypted, and the server is verified")
        }
        let found =
            isEncrypted
            ? "is encrypted, but the server is not verified" : "is not encrypted"
        return Finding(
            check: "encryption", severity: .warning,
            message: "the connection to \(host) \(found) (sslmode \(mode)): others on the network "
                + "can read and change it",
            remedy: "errand context show  # add sslmode=verify-full&sslrootcert=FILE to the "
                + "database's URL")
    }

    /// The host in `host:port/database`; nil for a socket of this machine.
    private static func host(of place: String) -> String? {
        guard !place.hasPrefix("/"), !place.hasPrefix("@") else { return nil }
        let server = place.prefix { $0 != "/" }
        return server.lastIndex(of: ":").map { String(server[..<$0]) }
    }

    private static func isLocal(_ host: String) -> Bool {
        // 127.example.com is a name, and elsewhere.
        host.isEmpty || host == "localhost" || host == "::1"
            || host.wholeMatch(of: /127(\.\d{1,3}){3}/) != nil
    }
}
