import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand leader show` and `resign`.
enum LeaderCommands {
    static let all = [show, resign]

    private static let lead = Argument<Role?>.optional(
        ValueFormat<Role>.choice("ROLE"), help: "feeder or scheduler (default: both)")

    private static let show = Command(
        "leader", "show", effect: .read,
        summary: "Show the leaders: the feeder and the scheduler",
        discussion: """
            One process at a time is the 'feeder': it stages due jobs in Redis, recovers the jobs \
            of dead workers and deletes old jobs. One process is the 'scheduler', which runs the \
            schedules. When a leader is gone, a standby takes over within about a second.
            """,
        examples: [.init("errand leader show", "the leaders and their standbys")],
        arguments: [lead]
    ) { invocation in
        let leaders = try await Inspector(session: try invocation.session()).leaders()
        let asked = invocation[lead]
        try invocation.output.list(
            leaders.filter { asked == nil || $0.role == asked }.map(record), columns: listed)
        return .done
    }

    private static let listed = [
        Column("role"), Column("worker"), Column("host", isFlexible: true), Column("pid"),
        Column("taken_at", title: "SINCE"), Column("state"), Column("standbys"),
    ]

    private static func record(_ leader: LeaderRecord) -> Record {
        let now = Instant.now().date
        let state: (word: String, style: Style) =
            if leader.backend == nil {
                ("none", .red)
            } else if leader.isAlive == false {
                ("unresponsive", .red)
            } else {
                ("active", .green)
            }
        return Record([
            ("role", .text(leader.role.rawValue)),
            ("worker", .optional(leader.worker) { .id(Int($0)) }),
            ("host", .optional(leader.host) { .text($0) }),
            ("pid", .optional(leader.pid) { .id($0) }),
            ("taken_at", .optional(leader.takenAt) { .age($0.date, now: now) }),
            ("state", .marked(state.word, state.style)),
            ("backend", .optional(leader.backend) { .id($0) }),
            ("standbys", .list(leader.standbys.map(String.init))),
        ])
    }

    // MARK: resign

    private static let timeout = Option<Duration>.duration(
        "timeout", default: .seconds(15), range: .zero ... .seconds(86_400),
        help: "Wait at most this long for the next leader")

    private static let resign = Command(
        "leader", "resign", effect: .write,
        summary: "Make the leader step down so that another process takes over",
        discussion: """
            The leader steps down for some seconds; without a standby it then becomes the leader \
            again. No work is lost: the next leader catches up.
            """,
        examples: [
            .init("errand leader resign feeder --reason 'its host is busy'", "change the feeder")
        ],
        options: [AuditOptions.reason, timeout], arguments: [lead]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let asked = invocation[lead]
        let before = try await inspector.leaders().filter { asked == nil || $0.role == asked }
        for leader in before { try refuse(leader) }
        for leader in before {
            guard
                try await inspector.askToResign(
                    leader, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
            else { throw changed(leader) }
        }
        let deadline = ContinuousClock.now + invocation[timeout]
        while true {
            let now = try await inspector.leaders().filter { asked == nil || $0.role == asked }
            let open = now.filter { leader in
                leader.takenAt == nil
                    || before.contains { $0.role == leader.role && $0.takenAt == leader.takenAt }
            }
            guard let first = open.first else {
                try invocation.output.list(now.map(record), columns: listed)
                return .done
            }
            guard ContinuousClock.now < deadline else { throw late(first) }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private static func refuse(_ leader: LeaderRecord) throws {
        let name = leader.role.rawValue
        guard leader.backend != nil else {
            throw CommandFailure(
                exit: .conflict, message: "no process is the \(name) now",
                hint: "'errand worker ls' shows whether a worker is alive")
        }
        guard leader.worker != nil else {
            throw CommandFailure(
                exit: .conflict,
                message: "the \(name) is not a worker, so it receives no commands"
                    + (leader.pid.map { ": pid \($0) on \(leader.host ?? "")" } ?? ""),
                hint: "stop that process; a standby takes over")
        }
    }

    private static func changed(_ leader: LeaderRecord) -> CommandFailure {
        CommandFailure(
            exit: .conflict,
            message: "the \(leader.role.rawValue) has changed meanwhile",
            hint: "'errand leader show' shows the current one")
    }

    private static func late(_ leader: LeaderRecord) -> CommandFailure {
        CommandFailure(
            exit: .timedOut,
            message: leader.backend == nil
                ? "timed out: no process has become the \(leader.role.rawValue)"
                : "timed out: the \(leader.role.rawValue) has not stepped down",
            hint: "'errand leader show' shows details; a leader that hangs loses its role when "
                + "its lease expires")
    }
}
