import JobQueue
import Migrations
import Postgres
import Terminal

/// What the doctor has found of PostgreSQL, and what others of its looks go by.
struct DoctorDatabase: Sendable {
    /// None when the server cannot be used.
    var session: Session?
    var findings: [Finding] = []
    /// So far is its clock ahead of ours.
    var clockLead: Duration?
    /// Its clock, or ours when it cannot be asked.
    var now = Instant.now()
    var status: EngineStatus?
    var health: EngineHealth?
}

/// What the doctor looks at in PostgreSQL.
extension DoctorCommand {
    static func database(_ invocation: Invocation) async -> DoctorDatabase {
        var found = DoctorDatabase()
        do {
            let session = try invocation.lookingSession()
            try await server(session, &found)
            found.session = session
            found.findings.append(await extensions(session))
            found.findings.append(await migrations(session))
            found.findings.append(await permissions(session, ServerLines(invocation)))
            let inspector = Inspector(session: session)
            found.status = try await inspector.status()
            found.health = try await inspector.health()
        } catch {
            found.findings.append(failed("postgresql", error))
        }
        return found
    }

    private static func server(_ session: Session, _ found: inout DoctorDatabase) async throws {
        // Connected first, so that the clocks are read in one quick round trip.
        _ = try await session.query("SELECT 1")
        let asked = Instant.now()
        let row = try await session.query(
            """
            SELECT current_setting('server_version'),
                current_setting('server_version_num')::int4,
                current_database()::text, current_user::text, clock_timestamp(),
                current_setting('fsync'), current_setting('synchronous_commit'),
                pg_is_in_recovery()
            """, [])
        let middle = asked.adding(Instant.now().durationSince(asked) / 2)
        found.now = try row.timestamp(0, 4)
        found.clockLead = found.now.durationSince(middle)
        let isNew = try row.int32(0, 1) >= 150_000
        found.findings.append(
            Finding(
                check: "postgresql", grade: isNew ? .ok : .critical,
                found: "\(try row.text(0, 0)), database \(try row.text(0, 2)), user "
                    + (try row.text(0, 3)),
                remedy: isNew ? nil : "apt-get install postgresql-15  # or newer"))
        let isDurable = try row.text(0, 5) == "on" && row.text(0, 6) != "off"
        found.findings.append(
            Finding(
                check: "durability", grade: isDurable ? .ok : .warning,
                found: "fsync \(try row.text(0, 5)), synchronous_commit \(try row.text(0, 6))"
                    + (isDurable ? "" : ": a crash of the server loses jobs"),
                remedy: isDurable
                    ? nil
                    : "errand db status  # set both to on: in postgresql.conf, the role or the URL")
        )
        if try row.bool(0, 7) {
            found.findings.append(
                Finding(
                    check: "role", grade: .critical, found: "a read-only standby",
                    remedy: "errand db status  # name the primary, or several hosts with "
                        + "target_session_attrs=read-write"))
        }
    }

    private static func extensions(_ session: Session) async -> Finding {
        await guarded("extensions") {
            let rows = try await session.query(
                """
                SELECT installed_version FROM pg_available_extensions WHERE name = 'postgis'
                """, [])
            guard let row = rows.first else {
                return Finding(
                    check: "extensions", grade: .critical, found: "PostGIS is not on the server",
                    remedy: "apt-get install postgresql-15-postgis-3  # on the server's machine")
            }
            guard let version = try row.optionalText(0) else {
                return Finding(
                    check: "extensions", grade: .warning, found: "PostGIS is not enabled here",
                    remedy: "errand migrate  # as a role that may CREATE EXTENSION")
            }
            return Finding(check: "extensions", grade: .ok, found: "PostGIS \(version)")
        }
    }

    private static func migrations(_ session: Session) async -> Finding {
        await guarded("migrations") {
            let list = try await Migrator(session: session).status()
            let pending = list.filter { $0.state == .pending }
            let wrong = list.filter { $0.state == .changed || $0.state == .unknown }
            if let first = wrong.first {
                return Finding(
                    check: "migrations", grade: .critical,
                    found: "migration \(first.number) (\(first.name)) is \(first.state.rawValue)",
                    remedy: "errand migrate status  # and run the version of errand that applied it"
                )
            }
            return Finding(
                check: "migrations", grade: pending.isEmpty ? .ok : .critical,
                found: "\(list.count - pending.count) applied, \(pending.count) pending",
                remedy: pending.isEmpty ? nil : "errand migrate")
        }
    }

    private static func permissions(
        _ session: Session, _ servers: ServerLines
    ) async -> Finding {
        await guarded("permissions") {
            let rows = try await session.query(
                """
                WITH ours AS (
                    SELECT oid, nspname FROM pg_namespace
                    WHERE nspname IN ('errand', 'notification', 'coupons')
                ), looked_at AS (
                    SELECT format('schema %I', nspname) AS name,
                        has_schema_privilege(oid, 'USAGE') AS is_granted
                    FROM ours
                    UNION ALL
                    SELECT format('sequence %I.%I', nspname, relname),
                        has_sequence_privilege(c.oid, 'USAGE')
                    FROM pg_class c JOIN ours ON ours.oid = c.relnamespace WHERE c.relkind = 'S'
                    UNION ALL
                    SELECT format('functions of schema %I', nspname),
                        bool_and(has_function_privilege(p.oid, 'EXECUTE'))
                    FROM pg_proc p JOIN ours ON ours.oid = p.pronamespace GROUP BY nspname
                    UNION ALL
                    SELECT format('table %I.%I', nspname, relname),
                        -- Asked for several at once, it is content with any of them.
                        has_table_privilege(c.oid, 'SELECT')
                            AND has_table_privilege(c.oid, 'INSERT')
                            AND has_table_privilege(c.oid, 'UPDATE')
                            AND has_table_privilege(c.oid, 'DELETE')
                    FROM pg_class c JOIN ours ON ours.oid = c.relnamespace
                    WHERE c.relkind IN ('r', 'p')
                )
                SELECT string_agg(name, ', ' ORDER BY name) FILTER (WHERE NOT is_granted),
                    (SELECT string_agg(quote_ident(nspname), ', ' ORDER BY nspname) FROM ours),
                    quote_ident(current_user),
                    (SELECT pg_get_userbyid(nspowner)::text FROM pg_namespace
                     WHERE nspname = 'errand')
                FROM looked_at
                """, [])
            guard let row = rows.first, let lacking = try row.optionalText(0) else {
                return Finding(
                    check: "permissions", grade: .ok, found: "all tables and functions can be used")
            }
            let end = "SCHEMA \(try row.text(1)) TO \(try row.text(2))"
            return Finding(
                check: "permissions", grade: .critical, found: "no access to \(lacking)",
                remedy: servers.psql(
                    "GRANT USAGE ON \(end); GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN "
                        + "\(end); GRANT USAGE ON ALL SEQUENCES IN \(end); GRANT EXECUTE ON ALL "
                        + "FUNCTIONS IN \(end)",
                    user: try row.optionalText(3)))
        }
    }
}
