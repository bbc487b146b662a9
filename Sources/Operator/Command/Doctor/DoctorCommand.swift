import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// `errand doctor`.
enum DoctorCommand {
    static let all = [command]

    private static let command = Command(
        "doctor", effect: .read,
        summary: "Diagnose servers, schema and jobs, and print the commands that fix problems",
        discussion: """
            Prints one line per check, the most severe first. Below them it prints the command \
            that fixes or investigates each problem, to paste into a shell. It makes no changes. \
            Where a server is down, the schema is outdated or privileges are missing, it runs the \
            remaining checks.

            It checks for queues whose jobs have no worker or wait too long, kinds that no live \
            worker knows, unresponsive workers and the jobs they hold, claims of workers that are \
            no longer registered, jobs that kill their workers, dead letters of the last hour, \
            interrupted operations, Redis eviction and lost staging. It also checks clocks, time \
            zones, schedules, migrations, privileges, partitions, bloat, old transactions, and \
            whatever the installed modules check.

            With --probe it only queries the process on this machine that listens at \
            ERRAND_LISTEN. It needs no server: use it for health checks of container engines.

            JSON has one object per finding: check, severity (ok, note, warning or critical), \
            message, and, unless it is ok, remedy. Exits 0 if there is no problem, 10 on a \
            warning, 11 on a critical problem.
            """,
        examples: [
            .init("errand doctor", "find problems and how to fix them"),
            .init("errand doctor -ojson | jq -r 'select(.remedy) | .remedy'", "only the commands"),
            .init("errand doctor --probe live", "health check of a container; needs no server"),
            .init("errand doctor --transaction-warning 10s", "report younger transactions too"),
        ],
        options: StatusLimits.options + [DoctorProbe.option]
    ) { invocation in
        if let probe = invocation[DoctorProbe.option] { return try await probe.run(invocation) }
        async let redis = DoctorRedis(invocation)
        let found = await database(invocation)
        var findings = found.findings
        findings += await redis.findings(of: found, ServerLines(invocation))
        findings.append(clocks(found.clockSkew, await redis.clockSkew))
        findings += schedules(found.status?.schedules, invocation.zones, invocation.modules)
        findings += await ofModules(found, invocation)
        findings += await engine(found, redis, invocation)
        findings = findings.worstFirst
        let output = invocation.output
        try output.list(
            findings.map(\.record),
            columns: [Column("check"), Column("severity"), Column("message", isFlexible: true)])
        // Never truncated, however narrow the terminal.
        for finding in findings where output.isForPeople {
            guard let remedy = finding.remedy else { continue }
            try output.line(
                DisplayWidth.harmless("\n\(finding.check): \(finding.message)", keepingLines: true))
            try output.line("  " + DisplayWidth.harmless(remedy))
        }
        return findings.exitCode
    }

    /// The findings of the installed modules.
    private static func ofModules(
        _ database: DoctorDatabase, _ invocation: Invocation
    ) async -> [Finding] {
        // Other checks report unreachable servers, pending migrations and missing privileges.
        guard let session = database.session,
            let modules = try? await invocation.usableModules(session)
        else { return [] }
        let context = ModuleContext(
            session: session, environment: invocation.environment, modules: modules.all)
        var findings: [Finding] = []
        for module in modules.all { findings += await module.findings(of: context) }
        return findings
    }

    /// The findings about the engine, with an ok finding for each check without a problem.
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
        let died = HumanFormat.count(status.deadLastHour ?? 0)
        for (check, parts, fine) in [
            ("queue", ["queues"], "no due job has waited too long"),
            ("workers", ["workers"], "no worker is unresponsive"),
            ("kinds", ["kinds"], "the workers know the kinds of all due jobs"),
            ("claims", ["claims"], "every claim belongs to a registered worker"),
            ("dead", ["dead letters"], "dead letters of the last hour: \(died)"),
            ("partitions", ["partitions"], "no partition is missing"),
            ("transaction", ["transactions", "bloat"], "no transaction has been open too long"),
            ("operations", ["operations"], "no operation was interrupted"),
        ]
        where !findings.contains(where: { $0.check == check })
            && !parts.contains(where: unread.contains)
        {
            findings.append(Finding(check: check, severity: .ok, message: fine))
        }
        if let first = unread.first {
            let names = unread.reduce(into: [first]) { if !$0.contains($1) { $0.append($1) } }
            findings.append(
                Finding(
                    check: "unchecked", severity: .note,
                    message: "could not be checked: " + names.joined(separator: ", ")
                        + (status.failure.map { " (\(describe($0)?.message ?? "\($0)"))" } ?? ""),
                    remedy: "errand migrate status  # everything else was checked"))
        }
        return findings
    }

    private static func clocks(_ postgres: Duration?, _ redis: Duration?) -> Finding {
        let known = [("PostgreSQL", postgres), ("Redis", redis)].compactMap { name, skew in
            skew.map { (name: name, skew: $0) }
        }
        let words = known.map { name, skew in
            let seconds = HumanFormat.number(abs(skew / .seconds(1)), decimals: 3)
            return "\(seconds) s \(skew < .zero ? "ahead of" : "behind") \(name)"
        }
        let wrong = known.filter {
            abs($0.skew / .seconds(1)) >= EngineHealth.clockTolerance / .seconds(1)
        }
        let found =
            words.isEmpty
            ? "no server to compare with" : "this machine is " + words.joined(separator: ", ")
        guard let first = wrong.first else {
            return Finding(check: "clock", severity: .ok, message: found)
        }
        let place = wrong.count == known.count ? "here" : "on the machine of \(first.name)"
        return Finding(
            check: "clock", severity: .warning, message: found,
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
            check: check, severity: .critical, message: failure?.message ?? "\(error)",
            remedy: failure?.hint)
    }
}
