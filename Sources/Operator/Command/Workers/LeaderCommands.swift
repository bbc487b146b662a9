import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand leader show` and `resign`.
enum LeaderCommands {
    static let all = [show, resign]

    private static let lead = Argument<Lead?>.optional(
        ValueFormat<Lead>.choice("LEAD"), help: "duties or scheduler; both unless given")

    private static let show = Command(
        "leader", "show", effect: .looks,
        summary: "Show who leads: in feeding and rescuing, and in schedules",
        discussion: """
            One process at a time leads in 'duties' (feeding Redis, freeing the jobs of dead \
            workers, forgetting old jobs) and one in 'scheduler'. The others stand by and take \
            over within a second or so when the leader is gone.
            """,
        examples: [.init("errand leader show", "who leads, and who would take over")],
        arguments: [lead]
    ) { invocation in
        let leaders = try await Inspector(session: try invocation.session()).leaders()
        let asked = invocation[lead]
        try invocation.output.list(
            leaders.filter { asked == nil || $0.lead == asked }.map(record), columns: listed)
        return .done
    }

    private static let listed = [
        Column("lead"), Column("worker"), Column("host", isFlexible: true), Column("pid"),
        Column("taken_at", title: "SINCE"), Column("state"), Column("standbys"),
    ]

    private static func record(_ leader: LeadRecord) -> Record {
        let now = Instant.now().date
        let state: (word: String, style: Style) =
            if leader.backend == nil {
                ("nobody", .red)
            } else if leader.isAlive == false {
                ("silent", .red)
            } else {
                ("leads", .green)
            }
        return Record([
            ("lead", .text(leader.lead.rawValue)),
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
        help: "Wait no longer than this for the next leader")

    private static let resign = Command(
        "leader", "resign", effect: .changes,
        summary: "Let the leader let go, so that another one takes over",
        discussion: """
            The leader holds back for some seconds; when nobody stands by it takes the lead \
            again. Nothing is lost: what fell due meanwhile is done by the next one.
            """,
        examples: [
            .init("errand leader resign duties --reason 'its host is busy'", "move the feeding")
        ],
        options: [AuditOptions.reason, timeout], arguments: [lead]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let asked = invocation[lead]
        let before = try await inspector.leaders().filter { asked == nil || $0.lead == asked }
        for leader in before { try refuse(leader) }
        for leader in before {
            guard
                try await inspector.askToResign(
                    leader, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
            else { throw changed(leader) }
        }
        let deadline = ContinuousClock.now + invocation[timeout]
        while true {
            let now = try await inspector.leaders().filter { asked == nil || $0.lead == asked }
            let open = now.filter { leader in
                leader.takenAt == nil
                    || before.contains { $0.lead == leader.lead && $0.takenAt == leader.takenAt }
            }
            guard let first = open.first else {
                try invocation.output.list(now.map(record), columns: listed)
                return .done
            }
            guard ContinuousClock.now < deadline else { throw late(first) }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private static func refuse(_ leader: LeadRecord) throws {
        let name = leader.lead.rawValue
        guard leader.backend != nil else {
            throw CommandFailure(
                exit: .conflict, message: "nobody leads in \(name) now",
                hint: "'errand worker ls' shows whether a worker is alive")
        }
        guard leader.worker != nil else {
            throw CommandFailure(
                exit: .conflict,
                message: "who leads in \(name) is no worker and takes no orders"
                    + (leader.pid.map { ": pid \($0) on \(leader.host ?? "")" } ?? ""),
                hint: "end that process; whoever stands by takes over")
        }
    }

    private static func changed(_ leader: LeadRecord) -> CommandFailure {
        CommandFailure(
            exit: .conflict,
            message: "the leader in \(leader.lead.rawValue) has changed meanwhile",
            hint: "'errand leader show' tells who it is now")
    }

    private static func late(_ leader: LeadRecord) -> CommandFailure {
        CommandFailure(
            exit: .timedOut,
            message: leader.backend == nil
                ? "nobody has taken the lead in \(leader.lead.rawValue) by then"
                : "the leader in \(leader.lead.rawValue) has not let go by then",
            hint: "'errand leader show' tells more; one that hangs loses its place when its "
                + "lease is over")
    }
}
