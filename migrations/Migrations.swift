package import ErrandPostgres

/// One step of the schema: plain SQL, numbered, never changed once it was applied somewhere.
package struct Migration: Sendable {
    /// From 1, without gaps.
    package var number: Int
    /// As its file is named, without the number.
    package var name: String
    package var sql: [UInt8]
}

/// All migrations, embedded in the binary, so that a container needs one file.
///
/// SwiftPM names an embedded file after its first character is replaced by `_`.
package let migrations: [Migration] = [
    Migration(number: 1, name: "jobs", sql: PackageResources._01_jobs_sql),
    Migration(number: 2, name: "enqueue", sql: PackageResources._02_enqueue_sql),
    Migration(number: 3, name: "notifications", sql: PackageResources._03_notifications_sql),
    Migration(number: 4, name: "coupons", sql: PackageResources._04_coupons_sql),
    Migration(number: 5, name: "schedules", sql: PackageResources._05_schedules_sql),
    Migration(number: 6, name: "operations", sql: PackageResources._06_operations_sql),
    Migration(number: 7, name: "activity", sql: PackageResources._07_activity_sql),
    Migration(number: 8, name: "orders", sql: PackageResources._08_orders_sql),
    Migration(number: 9, name: "bulk", sql: PackageResources._09_bulk_sql),
    Migration(number: 10, name: "listings", sql: PackageResources._10_listings_sql),
    Migration(number: 11, name: "notices", sql: PackageResources._11_notices_sql),
    Migration(number: 12, name: "mail", sql: PackageResources._12_mail_sql),
    Migration(number: 13, name: "webhooks", sql: PackageResources._13_webhooks_sql),
    Migration(number: 14, name: "codes", sql: PackageResources._14_codes_sql),
    Migration(number: 15, name: "redeeming", sql: PackageResources._15_redeeming_sql),
    Migration(number: 16, name: "coupon_life", sql: PackageResources._16_coupon_life_sql),
    Migration(number: 17, name: "ledger", sql: PackageResources._17_ledger_sql),
    Migration(number: 18, name: "rewards", sql: PackageResources._18_rewards_sql),
    Migration(number: 19, name: "payouts", sql: PackageResources._19_payouts_sql),
    Migration(number: 20, name: "closing", sql: PackageResources._20_closing_sql),
    Migration(
        number: 21, name: "payout_changes", sql: PackageResources._21_payout_changes_sql),
    Migration(number: 22, name: "issuing", sql: PackageResources._22_issuing_sql),
    Migration(number: 23, name: "parked", sql: PackageResources._23_parked_sql),
    Migration(number: 24, name: "votes", sql: PackageResources._24_votes_sql),
    Migration(number: 25, name: "casting", sql: PackageResources._25_casting_sql),
    Migration(number: 26, name: "closing_votes", sql: PackageResources._26_closing_votes_sql),
    Migration(number: 27, name: "counting", sql: PackageResources._27_counting_sql),
    Migration(number: 28, name: "results", sql: PackageResources._28_results_sql),
    Migration(number: 29, name: "missions", sql: PackageResources._29_missions_sql),
    Migration(number: 30, name: "hiring", sql: PackageResources._30_hiring_sql),
    Migration(number: 31, name: "offers", sql: PackageResources._31_offers_sql),
    Migration(number: 32, name: "doing", sql: PackageResources._32_doing_sql),
    Migration(number: 33, name: "reviewing", sql: PackageResources._33_reviewing_sql),
    Migration(number: 34, name: "household", sql: PackageResources._34_household_sql),
    Migration(number: 35, name: "roommates", sql: PackageResources._35_roommates_sql),
    Migration(number: 36, name: "debts", sql: PackageResources._36_debts_sql),
    Migration(number: 37, name: "paying", sql: PackageResources._37_paying_sql),
    Migration(number: 38, name: "chores", sql: PackageResources._38_chores_sql),
    Migration(number: 39, name: "turns", sql: PackageResources._39_turns_sql),
    Migration(number: 40, name: "groceries", sql: PackageResources._40_groceries_sql),
    Migration(number: 41, name: "board", sql: PackageResources._41_board_sql),
    Migration(number: 42, name: "roles", sql: PackageResources._42_roles_sql),
]

/// Why the schema could not be brought up to date.
package enum MigrationError: Error, CustomStringConvertible {
    /// A migration differs from what was applied under its number.
    case changed(number: Int, name: String)
    /// The database is ahead of this program.
    case unknown(number: Int, name: String)
    /// A migration's SQL failed; nothing of it was kept.
    case failed(number: Int, name: String, cause: PostgresError)

    package var description: String {
        switch self {
        case .changed(let number, let name):
            "migration \(number) (\(name)) was changed after it had been applied here: put its "
                + "file back as it was, and make the change in a new migration"
        case .unknown(let number, let name):
            "this database has migration \(number) (\(name)), which this program does not know: "
                + "it was migrated by a newer version; use that one"
        case .failed(let number, let name, let cause):
            "migration \(number) (\(name)) failed and was rolled back: \(cause)"
        }
    }
}

/// Where one migration stands in a database.
package struct MigrationStatus: Sendable {
    package enum State: String, Sendable {
        case applied, pending, changed, unknown
    }

    package var number: Int
    package var name: String
    package var state: State
    package var appliedAt: Instant?
}

/// Applies migrations to one database and says where it stands.
package struct Migrator: Sendable {
    private let session: Session
    private let list: [Migration]

    /// A migrator of the embedded migrations; another list serves the tests.
    package init(session: Session, list: [Migration] = migrations) {
        self.session = session
        self.list = list
    }

    // The table lives outside the schema that the first migration makes.
    private static let prepare = """
        CREATE TABLE IF NOT EXISTS public.errand_migrations (
            number int PRIMARY KEY,
            name text NOT NULL,
            checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    /// "errand" and a letter, as a number.
    private static let lock: Int64 = 0x65_72_72_61_6e_64_6d

    /// Applies what is pending, each migration in a transaction of its own, under an advisory lock.
    ///
    /// - Returns: those applied now.
    /// - Throws: ``MigrationError``; `PostgresError` when the database cannot be reached.
    package func migrate() async throws -> [Migration] {
        try await session.requireOwnProcess(for: "migrating")
        _ = try await session.query("SELECT pg_advisory_lock($1)", [.int64(Self.lock)])
        do {
            let applied = try await applyPending()
            try await unlock()
            return applied
        } catch {
            try? await unlock()
            throw error
        }
    }

    private func unlock() async throws {
        _ = try await session.query("SELECT pg_advisory_unlock($1)", [.int64(Self.lock)])
    }

    private func applyPending() async throws -> [Migration] {
        try await session.script(Self.prepare)
        for status in try await status() {
            switch status.state {
            case .changed:
                throw MigrationError.changed(number: status.number, name: status.name)
            case .unknown:
                throw MigrationError.unknown(number: status.number, name: status.name)
            case .applied, .pending: break
            }
        }
        let known = Set(try await applied().map(\.number))
        var done: [Migration] = []
        for migration in list where !known.contains(migration.number) {
            try await apply(migration)
            done.append(migration)
        }
        return done
    }

    private func apply(_ migration: Migration) async throws {
        let sql = String(decoding: migration.sql, as: UTF8.self)
        do {
            try await session.script("BEGIN;\n\(sql)\n;")
            _ = try await session.query(
                """
                INSERT INTO public.errand_migrations (number, name, checksum)
                VALUES ($1, $2, encode(sha256($3), 'hex'))
                """,
                [.int32(Int32(migration.number)), .text(migration.name), .bytes(migration.sql)])
            try await session.script("COMMIT")
        } catch {
            try? await session.script("ROLLBACK")
            throw MigrationError.failed(
                number: migration.number, name: migration.name, cause: error)
        }
    }

    private func applied() async throws -> [(
        number: Int, name: String, checksum: String, at: Instant
    )] {
        let exists = try await session.query(
            "SELECT to_regclass('public.errand_migrations') IS NOT NULL", []
        ).bool(0, 0)
        guard exists else { return [] }
        let rows = try await session.query(
            "SELECT number, name, checksum, applied_at FROM public.errand_migrations ORDER BY 1",
            [])
        return try rows.map { row in
            (
                Int(try row.int32("number")), try row.text("name"), try row.text("checksum"),
                try row.timestamp("applied_at")
            )
        }
    }

    /// Every migration that this program or the database knows.
    package func status() async throws -> [MigrationStatus] {
        let applied = try await applied()
        var all: [MigrationStatus] = []
        for migration in list {
            guard let found = applied.first(where: { $0.number == migration.number }) else {
                all.append(
                    MigrationStatus(
                        number: migration.number, name: migration.name, state: .pending))
                continue
            }
            // PostgreSQL computes the checksum, of what was applied and of what is embedded alike.
            let checksum = try await session.query(
                "SELECT encode(sha256($1), 'hex')", [.bytes(migration.sql)]
            ).text(0, 0)
            all.append(
                MigrationStatus(
                    number: migration.number, name: migration.name,
                    state: checksum == found.checksum ? .applied : .changed,
                    appliedAt: found.at))
        }
        for found in applied where !list.contains(where: { $0.number == found.number }) {
            all.append(
                MigrationStatus(
                    number: found.number, name: found.name, state: .unknown, appliedAt: found.at))
        }
        return all
    }
}
