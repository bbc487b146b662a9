import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// `errand doctor`.
enum DoctorCommand {
    static let all = [command]

    private static let command = Command(
        "doctor", effect: .looks,
        summary: "Name what is amiss with servers, schema and jobs, and what mends it",
        discussion: """
            Prints a line for each thing that it looks at, the worst first, and below them the \
            command that mends each, to be pasted into a shell. It changes nothing itself, and \
            looks at what it can where a server is down, the schema is behind, or rights are \
            lacking.

            It looks at queues with due jobs that nobody works or that wait for long, kinds \
            that no live worker knows, silent workers and what they hold, claims of workers \
            that are gone, jobs that kill their workers, dead letters of the last hour, \
            interrupted operations, Redis that evicts or has lost what was staged, clocks, time \
            zones, schedules, migrations, rights, partitions, bloat, old transactions, and what \
            each installed module checks of its own.

            With --probe it only asks the process that works on this machine, at ERRAND_LISTEN, \
            and needs no server: for the health checks of container engines.

            JSON is one object a finding: check, grade (ok, note, warning or critical), found, \
            and, unless it is ok, remedy. Exits 0 when all is well, 10 on a warning, 11 when work \
            cannot go on.
            """,
        examples: [
            .init("errand doctor", "what is wrong, and how to mend it"),
            .init("errand doctor -ojson | jq -r 'select(.remedy) | .remedy'", "the commands alone"),
            .init("errand doctor --probe live", "a health check of a container; needs no server"),
            .init("errand doctor --transaction-warning 10s", "also transactions that are younger"),
        ],
        options: StatusLimits.options + [DoctorProbe.option]
    ) { invocation in
        if let probe = invocation[DoctorProbe.option] { return try await probe.run(invocation) }
        async let redis = DoctorRedis(invocation)
        let found = await database(invocation)
        var findings = found.findings
        findings += await redis.findings(of: found, ServerLines(invocation))
        findings.append(clocks(found.clockLead, await redis.clockLead))
        findings += schedules(found.status?.schedules, invocation.zones, invocation.modules)
        findings += await ofModules(found, invocation)
        findings += await engine(found, redis, invocation)
        findings = findings.worstFirst
        let output = invocation.output
        try output.list(
            findings.map(\.record),
            columns: [Column("check"), Column("grade"), Column("found", isFlexible: true)])
        // In full, however narrow the terminal.
        for finding in findings where output.isForPeople {
            guard let remedy = finding.remedy else { continue }
            try output.line(
                DisplayWidth.harmless("\n\(finding.check): \(finding.found)", keepingLines: true))
            try output.line("  " + DisplayWidth.harmless(remedy))
        }
        return findings.exitCode
    }

    /// What the installed modules find.
    private static func ofModules(
        _ database: DoctorDatabase, _ invocation: Invocation
    ) async -> [Finding] {
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard let session = database.session,
            let modules = try? await invocation.usableModules(session)
        else { return [] }
        let checkup = Checkup(
            session: session, environment: invocation.environment, modules: modules.all)
        var findings: [Finding] = []
        for module in modules.all { findings += await module.findings(of: checkup) }
        return findings
    }

    /// What the numbers of the engine tell; names that nothing is amiss with are listed too.
    private static func engine(
        _ database: DoctorDatabase, _ redis: DoctorRedis, _ invocation: Invocation
    ) async -> [Finding] {
        guard let status = database.status else { return [] }
        let troubles = StatusFindings(
            status: status, redis: redis.status, limits: StatusLimits(invocation),
            now: database.now,
            servers: ServerLines(invocation), health: database.health,
            modules: invocation.modules)
        var findings = troubles.engine + troubles.deeper
        let unread = status.unread + (database.health?.unread ?? [])
        for (check, parts, fine) in [
            ("queue", ["queues"], "no due job waits for long"),
            ("workers", ["workers"], "none is silent"),
            ("kinds", ["kinds"], "all due jobs are of kinds that their workers know"),
            ("claims", ["claims"], "all are of workers that are in the list"),
            ("dead", ["dead letters"], "hardly any within the last hour"),
            ("partitions", ["partitions"], "all are prepared"),
            ("transaction", ["transactions", "bloat"], "none is open for long"),
            ("operations", ["operations"], "none was interrupted"),
        ]
        where !findings.contains(where: { $0.check == check })
            && !parts.contains(where: unread.contains)
        {
            findings.append(Finding(check: check, grade: .ok, found: fine))
        }
        if let first = unread.first {
            let names = unread.reduce(into: [first]) { if !$0.contains($1) { $0.append($1) } }
            findings.append(
                Finding(
                    check: "unchecked", grade: .note,
                    found: "could not be looked at: " + names.joined(separator: ", ")
                        + (status.failure.map { " (\(describe($0)?.message ?? "\($0)"))" } ?? ""),
                    remedy: "errand migrate status  # all was looked at else"))
        }
        return findings
    }

    /// Clocks that differ by so much do harm: a job starts early or late, a lease seems over.
    private static let clockTolerance = Duration.seconds(5)

    private static func clocks(_ postgres: Duration?, _ redis: Duration?) -> Finding {
        let known = [("PostgreSQL", postgres), ("Redis", redis)].compactMap { name, lead in
            lead.map { (name: name, lead: $0) }
        }
        let words = known.map { name, lead in
            let seconds = HumanFormat.number(abs(lead / .seconds(1)), decimals: 3)
            return "\(seconds) s \(lead < .zero ? "ahead of" : "behind") \(name)"
        }
        let wrong = known.filter { abs($0.lead / .seconds(1)) >= clockTolerance / .seconds(1) }
        let found =
            words.isEmpty
            ? "no server to compare with" : "this machine is " + words.joined(separator: ", ")
        guard let first = wrong.first else {
            return Finding(check: "clock", grade: .ok, found: found)
        }
        let place = wrong.count == known.count ? "here" : "on the machine of \(first.name)"
        return Finding(
            check: "clock", grade: .warning, found: found,
            remedy: "timedatectl set-ntp true  # \(place)"
                + (known.count == 1 ? ", or on the machine of \(first.name)" : ""))
    }

    static func guarded(
        _ check: String, _ body: () async throws -> Finding
    ) async -> Finding {
        do { return try await body() } catch { return failed(check, error) }
    }

    static func failed(_ check: String, _ error: any Error) -> Finding {
        let failure = describe(error) ?? (error as? CommandFailure)
        return Finding(
            check: check, grade: .critical, found: failure?.message ?? "\(error)",
            remedy: failure?.hint)
    }
}
