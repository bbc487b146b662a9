import Foundation
import ErrandPostgres
import ErrandTestServices

/// A database that was made as `deploy/postgres` says.
///
/// It has the logins of `roles.sql`, and an owner without any privilege has migrated it. It is on
/// servers of its own, since logins are the same in all databases of a server.
struct RoleGround: Sendable {
    /// That of the superuser.
    let admin: String
    let redis: String
    let database: String
    /// What seals secrets, for workers.
    let keys: String

    /// One for all tests of this process.
    static var shared: RoleGround {
        get async throws { try await RoleServers.shared.ground() }
    }

    static let checkout = Checkout.root

    func url(_ login: String) -> String {
        admin.replacing("//errand@/errand?", with: "//\(login)@/\(database)?")
    }

    func session(_ login: String) -> Session {
        Session(SessionSettings(url(login), name: "role", setup: ["SET TimeZone = 'UTC'"]))
    }

    /// The environment of a program that logs in so.
    func environment(_ login: String) -> [String: String] {
        ["DATABASE_URL": url(login), "REDIS_URL": redis, "ERRAND_KEYS_FILE": keys]
    }

    /// The SQLSTATE of what a login is refused; nil when it may.
    func refusal(_ login: String, _ statement: String) async throws -> String? {
        let session = session(login)
        defer { Task { await session.close() } }
        do throws(PostgresError) {
            _ = try await session.query(statement)
            return nil
        } catch { return error.sqlState }
    }

    /// The first column of what the superuser asks.
    func list(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String] {
        let session = session("errand")
        defer { Task { await session.close() } }
        return try await session.query(sql, parameters).map { try $0.text(0) }
    }
}

/// Starts the servers and makes the database once.
private actor RoleServers {
    static let shared = RoleServers()
    private var made: Task<RoleGround, any Error>?

    func ground() async throws -> RoleGround {
        let task = made ?? Task { try await Self.make() }
        made = task
        return try await task.value
    }

    private static func make() async throws -> RoleGround {
        let script = RoleGround.checkout.appending(path: "scripts/services").path
        let exports = try await output("/bin/bash", script, "start", "--name", "roles")
        func value(_ name: String) throws -> String {
            let line = exports.split(separator: "\n").first { $0.contains(name) }
            guard let value = line?.split(separator: "'").dropFirst().first else {
                throw Program.Trouble("scripts/services start gave no \(name): \(exports)")
            }
            return String(value)
        }
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-roles-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let ground = RoleGround(
            admin: try value("DATABASE_URL"), redis: try value("REDIS_URL"),
            database: "roles_\(ProcessInfo.processInfo.processIdentifier)",
            keys: folder.appending(path: "keys").path)
        let key = try await output(Program.errand, "key", "new")
        try Data(key.utf8).write(to: URL(filePath: ground.keys))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: ground.keys)
        try await output(
            "/usr/bin/env", "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-v",
            "database=\(ground.database)", "-f",
            RoleGround.checkout.appending(path: "deploy/postgres/roles.sql").path,
            ground.admin.replacing("@/errand?", with: "@/postgres?"))
        try await output(
            Program.errand, "migrate", "--modules", "all", "--database-url",
            ground.url("errand_owner"))
        let session = ground.session("errand_owner")
        try await session.script(seeds)
        await session.close()
        return ground
    }

    @discardableResult private static func output(_ words: String...) async throws -> String {
        let program = try Program(words[0], Array(words.dropFirst()))
        let end = try await program.end(within: .seconds(120))
        guard end == .exited(0) else {
            throw Program.Trouble("\(words): \(end)\n\(program.errors)")
        }
        return program.output
    }

    /// Something of each domain, as app servers make it.
    private static let seeds = """
        SELECT errand.enqueue('demo.noop') FROM generate_series(1, 20);
        SELECT errand.enqueue('demo.fail', '{"times": 99}', max_attempts => 1);
        INSERT INTO people.people (id, email, birth_date, age_verified_at,
            location_consent_at)
        SELECT n, 'p' || n || '@example.com', '1990-01-01', now(), now()
        FROM generate_series(1, 9) AS n;
        INSERT INTO establishments.establishments (name) VALUES ('Shop');
        INSERT INTO establishments.branches (establishment_id, name, place)
        VALUES (1, 'Main', st_point(-73, 45)::geography);
        SELECT coupons.grant_coupon(1, 1, 'x', now() + interval '1 day', 'survey:1');
        SELECT coupons.report_position(1, -73, 45, 10, now());
        SELECT ledger.credit_reward(1, 'survey:1', 1, 500, 300);
        SELECT household.create_group(1, 'Flat', 'America/Toronto');
        SELECT household.invite(1, 2), household.accept(2, 1);
        SELECT household.add_chore(1, 'Bins', current_date + 1, 'FREQ=WEEKLY');
        SELECT household.add_bill(1, 'Power', 9000, ARRAY[1, 2]::bigint[], 'r1', current_date);
        SELECT missions.record_review(1, 'survey:' || n, true) FROM generate_series(1, 20) AS n;
        SELECT missions.set_shopper(1, -73, 45, 8000, 2);
        SELECT missions.open_mission(1, 'Ask', now(), now() + interval '3 days', 2500, 1500,
            '[{"kind":"photos","title":"The shelf"}]', 'America/Toronto');
        SELECT notification.register_device(1, 'survey', 'fcm', 'token-1');
        SELECT notification.intend('payout.issued', 1, 'payout:90', '{"amount": {"minor": 1230, \
        "currency": "CAD"}, "cheque": "", "pay_date": "2026-12-01"}', 'd1',
            now() + interval '2 days');
        SELECT payouts.set_payee(1, 'Zoë Roy', ARRAY['12, rue Rachel', 'Montréal QC  H2W 1E1']);
        """
}
