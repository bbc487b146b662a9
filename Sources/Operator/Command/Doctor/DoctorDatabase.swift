import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

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
            let session = try invocation.readOnlySession()
            try await server(session, ServerLines(invocation), &found)
            found.session = session
            found.findings += await modules(session, invocation)
            found.findings.append(await permissions(session, ServerLines(invocation)))
            let inspector = Inspector(session: session)
            found.status = try await inspector.status()
            found.health = try await inspector.health()
        } catch {
            found.findings.append(failed("postgresql", error))
        }
        return found
    }

    private static func server(
        _ session: Session, _ servers: ServerLines, _ found: inout DoctorDatabase
    ) async throws {
        // Connected first, so that the clocks are read in one quick round trip.
        _ = try await session.query("SELECT 1")
        let asked = Instant.now()
        let row = try await session.query(
            """
            SELECT current_setting('server_version'),
                current_setting('server_version_num')::int4,
                current_database()::text, current_user::text, clock_timestamp(),
                current_setting('fsync'), current_setting('synchronous_commit'),
                pg_is_in_recovery(), current_setting('synchronous_standby_names'),
                (SELECT count(*) FROM pg_stat_replication)
            """, [])
        let middle = asked.adding(Instant.now().durationSince(asked) / 2)
        found.now = try row.timestamp(0, 4)
        found.clockLead = found.now.durationSince(middle)
        let isNew = try row.int32(0, 1) >= 150_000
        found.findings.append(
            Finding(
                check: "postgresql", grade: isNew ? .ok : .critical,
                found: "\(try row.text(0, 0)), database \(try row.text(0, 2)), user "
                    + "\(try row.text(0, 3)), at \(try await session.place())",
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
        } else if let finding = replication(
            names: try row.text(0, 8), standbys: Int(try row.int64(0, 9)), servers)
        {
            found.findings.append(finding)
        }
        guard try await session.isPooled() else { return }
        found.findings.append(
            Finding(
                check: "pooler", grade: .note,
                found: "a connection pooler stands before the server: jobs can be enqueued "
                    + "through it, and nothing else",
                remedy: "errand context show  # workers, schedules and operators need the "
                    + "server's own address"))
    }

    /// Whether what was acknowledged outlives the primary; nil when it has no standby at all.
    static func replication(names: String, standbys: Int, _ servers: ServerLines) -> Finding? {
        guard standbys > 0 || !names.isEmpty else { return nil }
        let count = "\(standbys) \(standbys == 1 ? "standby" : "standbys")"
        guard !names.isEmpty else {
            return Finding(
                check: "replication", grade: .warning,
                found: "\(count), none of which commits wait for: the last of them are lost when "
                    + "one takes over",
                remedy: servers.psql(
                    "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'"))
        }
        guard standbys > 0 else {
            return Finding(
                check: "replication", grade: .critical,
                found: "commits wait for \(names), and no standby is connected: nothing can be "
                    + "written",
                remedy: servers.psql("SELECT * FROM pg_stat_replication"))
        }
        return Finding(
            check: "replication", grade: .ok, found: "\(count), commits wait for \(names)")
    }
}
