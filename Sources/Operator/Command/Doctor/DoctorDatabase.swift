import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// The doctor's findings about PostgreSQL, and the data that its other checks use.
struct DoctorDatabase: Sendable {
    /// nil if the server is not usable.
    var session: Session?
    var findings: [Finding] = []
    /// How far the server's clock is ahead of the local clock.
    var clockSkew: Duration?
    /// The server's time, or the local time if the server is not reachable.
    var now = Instant.now()
    var status: EngineStatus?
    var health: EngineHealth?
}

/// The doctor's checks of PostgreSQL.
extension DoctorCommand {
    static func database(_ invocation: Invocation) async -> DoctorDatabase {
        var found = DoctorDatabase()
        do {
            let session = try invocation.readOnlySession()
            try await server(session, ServerLines(invocation), &found)
            found.session = session
            if let finding = await encryption(session, invocation) {
                found.findings.append(finding)
            }
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
        // Connects first, so that reading the clock takes one short round trip.
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
        found.clockSkew = found.now.durationSince(middle)
        let isNew = try row.int32(0, 1) >= 150_000
        found.findings.append(
            Finding(
                check: "postgresql", severity: isNew ? .ok : .critical,
                message: "\(try row.text(0, 0)), database \(try row.text(0, 2)), user "
                    + "\(try row.text(0, 3)), at \(try await session.place())",
                remedy: isNew ? nil : "apt-get install postgresql-15  # or newer"))
        let isDurable = try row.text(0, 5) == "on" && row.text(0, 6) != "off"
        found.findings.append(
            Finding(
                check: "durability", severity: isDurable ? .ok : .warning,
                message: "fsync \(try row.text(0, 5)), synchronous_commit \(try row.text(0, 6))"
                    + (isDurable ? "" : ": the server loses jobs if it crashes"),
                remedy: isDurable
                    ? nil
                    : "errand db status  # set both to on: in postgresql.conf, the role or the URL")
        )
        if try row.bool(0, 7) {
            found.findings.append(
                Finding(
                    check: "role", severity: .critical,
                    message: "the server is a read-only standby",
                    remedy: "errand db status  # connect to the primary, or to several hosts with "
                        + "target_session_attrs=read-write"))
        } else if let finding = replication(
            names: try row.text(0, 8), standbys: Int(try row.int64(0, 9)), servers)
        {
            found.findings.append(finding)
        }
        guard try await session.isPooled() else { return }
        found.findings.append(
            Finding(
                check: "pooler", severity: .note,
                message: "connections go through a pooler, which can only be used to enqueue jobs",
                remedy: "errand context show  # workers, schedules and operators need the "
                    + "address of the server itself"))
    }

    /// Checks whether acknowledged commits survive a failover; nil without any standby.
    static func replication(names: String, standbys: Int, _ servers: ServerLines) -> Finding? {
        guard standbys > 0 || !names.isEmpty else { return nil }
        let count = "\(standbys) \(standbys == 1 ? "standby" : "standbys")"
        guard !names.isEmpty else {
            return Finding(
                check: "replication", severity: .warning,
                message: "\(count), and commits do not wait for any: a failover loses the latest "
                    + "commits",
                remedy: servers.psql(
                    "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'"))
        }
        guard standbys > 0 else {
            return Finding(
                check: "replication", severity: .critical,
                message: "commits wait for \(names), but no standby is connected: writes block",
                remedy: servers.psql("SELECT * FROM pg_stat_replication"))
        }
        return Finding(
            check: "replication", severity: .ok, message: "\(count), commits wait for \(names)")
    }
}
