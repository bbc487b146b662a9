import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// `errand redis check` and `rebuild`.
enum RedisCommands {
    static let all = [check, rebuild]

    /// What is amiss, and the command that mends it.
    private struct Trouble {
        var found: String
        var remedy: String
    }

    private static let check = Command(
        "redis", "check", effect: .looks,
        summary: "Compare what Redis holds with what PostgreSQL says",
        discussion: """
            Looks at memory, at the eviction policy, and at the windows of ids from which workers \
            take jobs. Ids that no longer wait are harmless: they are dropped when they are \
            popped. Exits 1 when something is amiss, with the command that mends it.
            """,
        examples: [.init("errand redis check", "is all staged that should be")]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let check = try await WindowInspector(try invocation.redisAddress(), inspector).check()
        let troubles = troubles(of: check, ServerLines(invocation))
        let output = invocation.output
        if !output.isForPeople {
            var record = record(of: check)
            record.append("windows", .records(check.windows.map(Self.record)))
            record.append(
                "trouble",
                .records(
                    troubles.map {
                        Record([("found", .text($0.found)), ("remedy", .text($0.remedy))])
                    }))
            try output.show(record)
        } else {
            try output.show(record(of: check))
            try output.line()
            let shown = check.windows.filter { $0.size > 0 || !$0.missing.isEmpty }
            try output.list(shown.map(record), columns: listed, empty: "nothing is staged now")
            for trouble in troubles {
                try output.line("\n" + DisplayWidth.harmless(trouble.found))
                try output.line("  " + trouble.remedy)
            }
        }
        guard let first = troubles.first else { return .done }
        throw CommandFailure(exit: .failed, message: first.found, hint: first.remedy)
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
            ("fed", .flag(check.isFed)), ("feeder_alive", .flag(check.isFeederAlive)),
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
                Trouble(found: "Redis \(finding.found)", remedy: finding.remedy ?? ""))
        }
        if check.hasWorkers, !check.isFeederAlive {
            troubles.append(
                Trouble(
                    found: "workers are alive and none leads in feeding: nothing is staged",
                    remedy: "errand leader show  # within seconds one should lead"))
        }
        if check.isFeederAlive, !check.isFed {
            troubles.append(
                Trouble(
                    found: "Redis has lost what was staged, and the feeder has not noticed",
                    remedy: "errand redis rebuild"))
        }
        let missing = check.windows.flatMap(\.missing)
        if let first = missing.first {
            troubles.append(
                Trouble(
                    found: "\(HumanFormat.count(missing.count)) jobs of those looked at are due "
                        + "and not staged, such as job \(first)",
                    remedy: "errand redis rebuild  # if it stays so: errand leader resign duties"))
        }
        return troubles
    }

    // MARK: rebuild

    private static let timeout = Option<Duration>.duration(
        "timeout", default: .seconds(15), range: .zero ... .seconds(86_400),
        help: "Wait no longer than this for the feeder")

    private static let rebuild = Command(
        "redis", "rebuild", effect: .changes,
        summary: "Delete what Redis holds of this database and stage it anew",
        discussion: """
            Nothing is lost: all jobs are in PostgreSQL, and the worker that leads in feeding \
            stages again what is due. What other databases and programs have in the same Redis \
            stays as it is.
            """,
        examples: [.init("errand redis rebuild", "asks first")],
        options: [AuditOptions.reason, timeout]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let windows = WindowInspector(try invocation.redisAddress(), inspector)
        try invocation.output.confirm(
            "delete all that this database has in Redis, and stage it anew?",
            yes: invocation[GlobalOptions.yes])
        let deleted = try await windows.empty(
            by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        let isLed = try await inspector.leaders().contains {
            $0.lead == .duties && $0.isAlive == true
        }
        let isFed = isLed ? try await windows.waitUntilFed(within: invocation[timeout]) : false
        try invocation.output.show(
            Record([("deleted_keys", .int(deleted)), ("staged_again", .flag(isFed))]))
        guard isFed || !isLed else {
            throw CommandFailure(
                exit: .timedOut, message: "the feeder has not begun to stage again by then",
                hint: "'errand leader show' tells who leads in duties; 'errand leader resign "
                    + "duties' lets another one do it")
        }
        if !isLed {
            invocation.output.note("no worker leads in feeding: it is staged once one runs")
        }
        return .done
    }
}
