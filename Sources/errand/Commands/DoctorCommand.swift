import FoundationEssentials
import JobQueue
import Migrations
import Postgres
import Redis
import Terminal

/// `errand doctor`.
enum DoctorCommand {
    static let all = [command]

    /// One thing that was looked at, and how to mend it if it is amiss.
    struct Finding {
        enum Grade: String { case ok, warning, critical }

        var check: String
        var grade: Grade
        var found: String
        var remedy: String?

        var record: Record {
            let style: Style = grade == .ok ? .green : grade == .warning ? .yellow : .red
            return Record([
                ("check", .text(check)), ("result", .marked(grade.rawValue, style)),
                ("found", .text(found)), ("remedy", .optional(remedy) { .text($0) }),
            ])
        }
    }

    private static let command = Command(
        "doctor", effect: .looks,
        summary: "Check servers, schema and permissions, and say how to mend each",
        discussion: "Exits 0 when all is well, 10 on a warning, 11 when work cannot go on.",
        examples: [.init("errand doctor", "what is wrong, and how to mend it")]
    ) { invocation in
        var findings: [Finding] = []
        findings += await database(invocation)
        findings += await redis(invocation)
        findings += await schedules(invocation)
        let output = invocation.output
        try output.list(
            findings.map(\.record),
            columns: [Column("check"), Column("result"), Column("found", isFlexible: true)])
        // In full, however narrow the terminal.
        for finding in findings where output.isForPeople {
            guard let remedy = finding.remedy else { continue }
            try output.line("\n\(finding.check): \(finding.found)\n  \(remedy)")
        }
        if findings.contains(where: { $0.grade == .critical }) { return .critical }
        return findings.contains { $0.grade == .warning } ? .warning : .done
    }

    private static func database(_ invocation: Invocation) async -> [Finding] {
        var findings: [Finding] = []
        let session: Session
        do {
            session = try invocation.session()
            let row = try await session.query(
                """
                SELECT current_setting('server_version'),
                    current_setting('server_version_num')::int4,
                    current_database()::text, current_user::text, clock_timestamp(),
                    current_setting('fsync'), current_setting('synchronous_commit'),
                    pg_is_in_recovery()
                """, [])
            let version = try row.int32(0, 1)
            findings.append(
                Finding(
                    check: "postgresql", grade: version >= 150_000 ? .ok : .critical,
                    found: "\(try row.text(0, 0)), database \(try row.text(0, 2)), user "
                        + (try row.text(0, 3)),
                    remedy: version >= 150_000 ? nil : "Errand needs PostgreSQL 15 or newer"))
            findings.append(clock(try row.timestamp(0, 4)))
            let isDurable = try row.text(0, 5) == "on" && row.text(0, 6) != "off"
            findings.append(
                Finding(
                    check: "durability", grade: isDurable ? .ok : .warning,
                    found: "fsync \(try row.text(0, 5)), synchronous_commit \(try row.text(0, 6))",
                    remedy: isDurable
                        ? nil : "set both to on: as it is, a crash of the server loses jobs"))
            if try row.bool(0, 7) {
                findings.append(
                    Finding(
                        check: "role", grade: .critical, found: "a read-only standby",
                        remedy: "name the primary, or several hosts with "
                            + "target_session_attrs=read-write"))
            }
        } catch {
            let failure = describe(error) ?? (error as? CommandFailure)
            return [
                Finding(
                    check: "postgresql", grade: .critical, found: failure?.message ?? "\(error)",
                    remedy: failure?.hint)
            ]
        }
        findings.append(await extensions(session))
        findings.append(await migrations(session))
        findings.append(await permissions(session))
        findings.append(await oldTransactions(session))
        return findings
    }

    private static func clock(_ theirs: Instant) -> Finding {
        let difference = abs(theirs.durationSince(.now()) / .seconds(1))
        return Finding(
            check: "clock", grade: difference < 5 ? .ok : .warning,
            found: "\(HumanFormat.number(difference, decimals: 3)) s between here and PostgreSQL",
            remedy: difference < 5 ? nil : "let both machines keep time by NTP")
    }

    static func guarded(
        _ check: String, _ body: () async throws -> Finding
    ) async -> Finding {
        do { return try await body() } catch {
            let failure = describe(error)
            return Finding(
                check: check, grade: .critical, found: failure?.message ?? "\(error)",
                remedy: failure?.hint)
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
                    remedy: "install the server's package postgresql-15-postgis-3")
            }
            guard let version = try row.optionalText(0) else {
                return Finding(
                    check: "extensions", grade: .warning, found: "PostGIS is not enabled here",
                    remedy: "errand migrate (as a role that may CREATE EXTENSION)")
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
                    remedy: "run the version of errand that applied it; see errand migrate status")
            }
            return Finding(
                check: "migrations", grade: pending.isEmpty ? .ok : .critical,
                found: "\(list.count - pending.count) applied, \(pending.count) pending",
                remedy: pending.isEmpty ? nil : "errand migrate")
        }
    }

    private static func permissions(_ session: Session) async -> Finding {
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
                    quote_ident(current_user)
                FROM looked_at
                """, [])
            guard let row = rows.first, let lacking = try row.optionalText(0) else {
                return Finding(
                    check: "permissions", grade: .ok, found: "all tables can be read and written")
            }
            let end = "SCHEMA \(try row.text(1)) TO \(try row.text(2))"
            return Finding(
                check: "permissions", grade: .critical, found: "no access to \(lacking)",
                remedy: "GRANT USAGE ON \(end); GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES "
                    + "IN \(end); GRANT USAGE ON ALL SEQUENCES IN \(end)")
        }
    }

    private static func oldTransactions(_ session: Session) async -> Finding {
        await guarded("transactions") {
            let rows = try await session.query(
                """
                SELECT pid, coalesce(application_name, ''),
                    extract(epoch FROM clock_timestamp() - xact_start)::float8
                FROM pg_stat_activity
                WHERE xact_start < clock_timestamp() - interval '5 minutes'
                  AND backend_type = 'client backend'
                ORDER BY xact_start LIMIT 1
                """, [])
            guard let row = rows.first else {
                return Finding(
                    check: "transactions", grade: .ok, found: "none older than five minutes")
            }
            let pid = try row.int32(0)
            let age = HumanFormat.duration(.seconds(try row.double(2)))
            return Finding(
                check: "transactions", grade: .warning,
                found: "one is open for \(age) (pid \(pid), \(try row.text(1)))",
                remedy: "it keeps dead rows from being cleaned: SELECT pg_terminate_backend(\(pid))"
            )
        }
    }

    private static func redis(_ invocation: Invocation) async -> [Finding] {
        do {
            let connection = Connection(try invocation.redisAddress(), name: "errand-doctor")
            let info = try await connection.send(Command("INFO")).text ?? ""
            var values: [Substring: Substring] = [:]
            for line in info.split(whereSeparator: \.isNewline) {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts.count == 2 { values[parts[0]] = parts[1] }
            }
            let version = values["redis_version"].map(String.init) ?? "unknown"
            let major = Int(version.prefix { $0 != "." }) ?? 0
            let policy = values["maxmemory_policy"].map(String.init) ?? "noeviction"
            let limit = values["maxmemory"].map(String.init) ?? "0"
            let mayEvict = limit != "0" && policy != "noeviction"
            return [
                Finding(
                    check: "redis", grade: major >= 7 ? .ok : .critical, found: version,
                    remedy: major >= 7 ? nil : "Errand needs Redis 7 or newer (BZMPOP)"),
                Finding(
                    check: "redis memory", grade: mayEvict ? .warning : .ok,
                    found: "maxmemory \(limit), \(policy)",
                    remedy: mayEvict
                        ? "CONFIG SET maxmemory-policy noeviction: evicted ids start late" : nil),
            ]
        } catch {
            let failure = describe(error) ?? (error as? CommandFailure)
            return [
                Finding(
                    check: "redis", grade: .critical, found: failure?.message ?? "\(error)",
                    remedy: failure?.hint)
            ]
        }
    }
}
