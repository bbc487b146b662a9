import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// `errand redis check` and `rebuild`.
enum RedisCommands {
    static let all = [check, rebuild]

    /// A problem, and the command that fixes it.
    private struct Trouble {
        var message: String
        var remedy: String
    }

    private static let check = Command(
        "redis", "check", effect: .read,
        summary: "Check Redis and compare its staged jobs with PostgreSQL",
        discussion: """
            Checks memory, the eviction policy, the types of the keys, and the windows of ids \
            from which workers claim jobs. Stale ids are harmless: workers drop them. If there is \
            a problem, it prints the command that fixes it and exits 1.
            """,
        examples: [.init("errand redis check", "check that all due jobs are staged")]
    ) { invocation in
        let session = try invocation.session()
        let address = try invocation.redisAddress()
        let inspector = Inspector(session: session)
        // Nothing else can be read from keys of another type.
        if let message = RedisKeyFindings.message(
            try await RedisKeyFindings.wrongKeys(address, session))
        {
            throw CommandFailure(
                exit: .failed, message: message, hint: RedisKeyFindings.remedy)
        }
        let check = try await WindowInspector(address, inspector).check()
        let troubles = troubles(of: check, ServerLines(invocation))
        let output = invocation.output
        if !output.isForPeople {
            var record = record(of: check)
            record.append("windows", .records(check.windows.map(Self.record)))
            record.append(
                "problems",
                .records(
                    troubles.map {
                        Record([("message", .text($0.message)), ("remedy", .text($0.remedy))])
                    }))
            try output.show(record)
        } else {
            try output.show(record(of: check))
            try output.line()
            let shown = check.windows.filter { $0.size > 0 || !$0.missing.isEmpty }
            try output.list(shown.map(record), columns: listed, empty: "nothing is staged now")
            for trouble in troubles {
                try output.line("\n" + DisplayWidth.harmless(trouble.message))
                try output.line("  " + trouble.remedy)
            }
        }
        guard let first = troubles.first else { return .done }
        throw CommandFailure(exit: .failed, message: first.message, hint: first.remedy)
    }

    private static let listed = [
        Column("queue", isFlexible: true), Column("kind", isFlexible: true), Column("version"),
        Column("size"), Column("sampled"), Column("stale"), Column("missing"),
    ]

    private static func record(of check: WindowCheck) -> Record {
        let server = check.server
        return Record([
            ("version", .text(server.version)), ("used_bytes", .bytes(server.usedBytes)),
            ("limit_bytes", server.limitBytes == 0 ? .missing : .bytes(server.limitBytes)),
            ("policy", .text(server.policy)),
            ("staging_marker", .flag(check.hasStaging)),
            ("feeder_alive", .flag(check.isFeederAlive)),
            ("staged", .int(check.windows.reduce(0) { $0 + $1.size })),
        ])
    }

    private static func record(_ window: WindowCheck.Window) -> Record {
        Record([
            ("queue", .text(window.lane.queue)), ("kind", .text(window.lane.kind)),
            ("version", .id(window.lane.version)), ("size", .int(window.size)),
            ("sampled", .int(window.sampled)), ("stale", .int(window.stale)),
            ("missing", .int(window.missing.count)),
        ])
    }

    private static func troubles(
        of check: WindowCheck, _ servers: ServerLines
    ) -> [Trouble] {
        var troubles: [Trouble] = []
        for finding in StatusFindings.eviction(check.server, servers) {
            troubles.append(
                Trouble(message: "Redis \(finding.message)", remedy: finding.remedy ?? ""))
        }
        if check.hasWorkers, !check.isFeederAlive {
            troubles.append(
                Trouble(
                    message: "workers are alive but none is the feeder: no jobs are staged",
                    remedy: "errand leader show  # a worker should take over within seconds"))
        }
        if check.isFeederAlive, !check.hasStaging {
            troubles.append(
                Trouble(
                    message: "Redis has lost the staged jobs, and the feeder has not noticed",
                    remedy: "errand redis rebuild"))
        }
        let missing = check.windows.flatMap(\.missing)
        if let first = missing.first {
            troubles.append(
                Trouble(
                    message: "\(HumanFormat.count(missing.count)) of the sampled jobs are due "
                        + "but not staged, such as job \(first)",
                    remedy: "errand redis rebuild  # if that fails: errand leader resign feeder"))
        }
        return troubles
    }

    // MARK: rebuild

    private static let timeout = Option<Duration>.duration(
        "timeout", default: .seconds(15), range: .zero ... .seconds(86_400),
        help: "Wait no longer than this for the feeder")

    private static let rebuild = Command(
        "redis", "rebuild", effect: .write,
        summary: "Delete this database's keys in Redis and stage its due jobs again",
        discussion: """
            No job is lost: all jobs are in PostgreSQL, and the feeder stages the due ones again. \
            Keys of other databases and programs in the same Redis are not touched.
            """,
        examples: [.init("errand redis rebuild", "asks for confirmation")],
        options: [AuditOptions.reason, timeout]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let windows = WindowInspector(try invocation.redisAddress(), inspector)
        try invocation.output.confirm(
            "delete all keys of this database in Redis, and stage its due jobs again?",
            yes: invocation[GlobalOptions.yes])
        let deleted = try await windows.empty(
            by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        let hasScheduler = try await inspector.leaders().contains {
            $0.role == .feeder && $0.isAlive == true
        }
        let hasStaging =
            hasScheduler ? try await windows.waitUntilFed(within: invocation[timeout]) : false
        try invocation.output.show(
            Record([("deleted_keys", .int(deleted)), ("staged_again", .flag(hasStaging))]))
        guard hasStaging || !hasScheduler else {
            throw CommandFailure(
                exit: .timedOut, message: "timed out: the feeder did not resume staging",
                hint: "'errand leader show' shows the feeder; 'errand leader resign feeder' makes "
                    + "another worker take over")
        }
        if !hasScheduler {
            invocation.output.note("no worker is the feeder: jobs are staged once one is")
        }
        return .done
    }
}
