import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// `errand status`.
enum StatusCommand {
    static let all = [command]

    private static let check = Option<Bool>.flag(
        "check", help: "Print only problems; exit 10 on a warning, 11 on a critical one")
    private static let exact = Option<Bool>.flag(
        "exact", help: "Count all waiting jobs instead of estimating: may take long")
    private static let command = Command(
        "status", effect: .read, summary: "Show queues, workers and servers on one screen",
        discussion: """
            The line of a problem ends with the command that investigates or fixes it. Counts \
            marked with ~ are estimates. P95 WAIT covers the last ten minutes, IN/S and OUT/S the \
            last minute.

            With --check it prints one line per problem, the most severe first, and exits 0, 10 \
            (warning) or 11 (critical): a probe for cron or a monitoring system. Critical: a queue \
            without a live worker whose jobs have waited for --oldest-warning, an unreachable \
            Redis or PostgreSQL, and values above a --…-critical limit. Warnings: unresponsive \
            workers, overdue schedules, pending migrations, a Redis that evicts, and values above \
            a --…-warning limit.

            JSON is one object: queues (as in 'queue ls'), leaders, workers, \
            unresponsive_workers, overdue_schedules, dead, dead_last_hour, redis, \
            oldest_transaction (seconds), pending_migrations, problems (as in --check) and others.
            """,
        examples: [
            .init("errand status", "an overview of the system"),
            .init("errand status --check || page-someone", "from cron"),
            .init("errand status --check --oldest-critical 2m --dead-warning 20", "other limits"),
        ],
        options: [check, exact] + StatusLimits.options
    ) { invocation in
        let limits = StatusLimits(invocation)
        let session = try invocation.readOnlySession()
        let address = try invocation.redisAddress()
        async let redis = Self.redis(address)
        let status: EngineStatus
        do {
            status = try await Inspector(session: session)
                .status(isExact: invocation[exact])
        } catch {
            guard invocation[check], let failure = describe(error) else { throw error }
            return try report([unreadable(failure)], invocation)
        }
        let findings = StatusFindings(
            status: status, redis: await redis, limits: limits, now: .now(),
            servers: ServerLines(invocation), modules: invocation.modules)
        if invocation[check] { return try report(findings.all.worstFirst, invocation) }
        try StatusScreen(findings: findings, output: invocation.output).show()
        return .done
    }

    static func redis(_ address: RedisAddress) async -> RedisStatus {
        do { return .reachable(try await RedisInfo.read(from: address)) } catch {
            return .unreachable("\(error)")
        }
    }

    private static func unreadable(_ failure: CommandFailure) -> Finding {
        let isEmpty = failure.hint?.contains("errand migrate") == true
        return Finding(
            check: isEmpty ? "schema" : "postgresql", severity: .critical, message: failure.message,
            remedy: isEmpty ? "errand migrate" : "errand doctor")
    }

    private static func report(
        _ findings: [Finding], _ invocation: Invocation
    ) throws -> ExitCode {
        let output = invocation.output
        if output.isForPeople {
            for finding in findings {
                let style: Style = finding.severity == .critical ? .red : .yellow
                try output.line(
                    output.paint(finding.severity.rawValue, style)
                        + DisplayWidth.harmless(
                            " \(finding.check): \(finding.message): \(finding.remedy ?? "")"))
            }
            if findings.isEmpty { try output.line("ok") }
        } else {
            try output.list(findings.map(\.record))
        }
        return findings.exitCode
    }
}
