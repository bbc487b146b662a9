import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// `errand status`.
enum StatusCommand {
    static let all = [command]

    private static let check = Option<Bool>.flag(
        "check", help: "Print only what is amiss, and exit 10 on a warning, 11 if critical")
    private static let exact = Option<Bool>.flag(
        "exact", help: "Count all waiting jobs, however many: may take long")
    private static let command = Command(
        "status", effect: .looks, summary: "Show queues, workers and servers on one screen",
        discussion: """
            What is amiss ends in the command that looks further or mends it. Counts marked with \
            ~ are estimates; P95 WAIT is of the last ten minutes, IN/S and OUT/S of the last one.

            With --check it prints a line for each thing that is amiss, the worst first, and \
            exits 0, 10 (warning) or 11 (critical): a probe for cron or a monitoring system. \
            Critical are a queue without a live worker whose jobs have waited for \
            --oldest-warning, Redis or PostgreSQL that cannot be reached, and what passes a \
            --…-critical; warnings are silent workers, overdue schedules, pending migrations, \
            Redis that evicts, and what passes a --…-warning.

            JSON is one object: queues (as 'queue ls' has them), leaders, workers, \
            silent_workers, overdue_schedules, dead, dead_last_hour, redis, oldest_transaction \
            (seconds), pending_migrations and trouble (as --check prints it).
            """,
        examples: [
            .init("errand status", "how it goes"),
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
        do { return .reachable(try await RedisLook.look(at: address)) } catch {
            return .unreachable("\(error)")
        }
    }

    private static func unreadable(_ failure: CommandFailure) -> Finding {
        let isEmpty = failure.hint?.contains("errand migrate") == true
        return Finding(
            check: isEmpty ? "schema" : "postgresql", grade: .critical, found: failure.message,
            remedy: isEmpty ? "errand migrate" : "errand doctor")
    }

    private static func report(
        _ findings: [Finding], _ invocation: Invocation
    ) throws -> ExitCode {
        let output = invocation.output
        if output.isForPeople {
            for finding in findings {
                let style: Style = finding.grade == .critical ? .red : .yellow
                try output.line(
                    output.paint(finding.grade.rawValue, style)
                        + DisplayWidth.harmless(
                            " \(finding.check): \(finding.found): \(finding.remedy ?? "")"))
            }
            if findings.isEmpty { try output.line("ok") }
        } else {
            try output.list(findings.map(\.record))
        }
        return findings.exitCode
    }
}
