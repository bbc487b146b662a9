import Foundation
import ErrandTestServices
import Testing

/// Data of several modules, and what the commands of destruction and transfer need beside it.
struct CustodyGround {
    let folder: URL

    /// Fills the running test's database.
    init() async throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-custody-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try await change(Self.data)
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    /// The path of a file in the folder.
    func path(_ name: String) -> String { folder.appending(path: name).path }

    /// A day on which people were notified early enough.
    static let day = "2020-01-01"

    static func by(_ name: String) -> [String: String] { ["ERRAND_OPERATOR": name] }

    /// Plans and approves a destruction, as two people with one login.
    static func approve(_ more: [String], environment: [String: String] = [:]) async throws {
        try await change("UPDATE custody.rules SET allows_shared_login = true")
        try await errand(
            ["destruction", "plan", "--notified-on", day, "--yes", "--accept", "unpaid_balances"]
                + more, environment: environment.merging(by("ann")) { $1 }
        ).expect(0, "another operator approves it")
        try await errand(
            "destruction", "approve", "--yes", environment: environment.merging(by("bob")) { $1 }
        ).expect(0)
    }

    private static let data = """
        INSERT INTO people.people (id, email, birth_date, age_verified_at)
        SELECT n, 'p' || n || '@example.org', '1990-01-01', now() FROM generate_series(1, 300) n;
        SELECT setval('people.people_id_seq', 300);
        INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts, for_apps)
        VALUES ('receipt.send', 1, 'default', 2, 20, true);
        SELECT count(errand.enqueue('receipt.send', jsonb_build_object('person_id', n)))
        FROM generate_series(1, 40) n;
        INSERT INTO errand.finished_jobs (id, created_at, run_at, finished_at, keep_until, outcome,
            priority, attempt, max_attempts, args_version, queue, kind, args)
        SELECT 10000 + n, now(), now(), now(), current_date + n % 20, 'completed', 1, 1, 1, 1,
            'default', 'x', '{}' FROM generate_series(1, 200) n;
        INSERT INTO establishments.establishments (name)
        SELECT 'E' || n FROM generate_series(1, 3) n;
        SELECT count(ledger.credit_reward(n, 'survey:' || n, 1, 500, 40 + n, 'CAD'))
        FROM generate_series(1, 100) n;
        SELECT count(payouts.set_payee(n, 'Name ' || n, ARRAY['12, rue Rachel', 'Montréal']))
        FROM generate_series(1, 50) n;
        SELECT household.create_group(201, 'Rue Rachel 12', 'America/Toronto');
        SELECT household.accept(p, household.invite(201, p)) FROM unnest('{202,203}'::bigint[]) p;
        SELECT household.add_note(203, E'The plumber\\tcomes on\\\\N Friday\\nat nine');
        SELECT notification.register_device(17, 'household', 'apns', repeat('ab', 32),
            'org.example.household');
        SELECT nextval('coupons.guess_counter_5');
        INSERT INTO errand.audit (operator, action, subject) VALUES ('ann', 'person show', '17')
        """

    /// Runs openssl in the folder.
    func openssl(_ words: String...) async throws -> String {
        let program = try Program("/usr/bin/env", ["openssl"] + words)
        guard try await program.end(within: .seconds(60)) == .exited(0) else {
            throw Program.Trouble("openssl \(words): \(program.errors)")
        }
        return program.output
    }

    /// Makes a private key and its certificate.
    func keyPair(_ name: String, elliptic: Bool = false) async throws {
        let kind = elliptic ? ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] : ["rsa:2048"]
        let program = try Program(
            "/usr/bin/env",
            ["openssl", "req", "-x509", "-newkey"] + kind + [
                "-nodes", "-days", "30", "-subj", "/CN=\(name)", "-keyout", path("\(name).key"),
                "-out", path("\(name).pem"),
            ])
        guard try await program.end(within: .seconds(60)) == .exited(0) else {
            throw Program.Trouble("openssl req: \(program.errors)")
        }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: path("\(name).key"))
    }
}
