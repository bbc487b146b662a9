import Errand
import ErrandMigrations
import ErrandPostgres
import ErrandTerminal
import ErrandVotes

/// `errand migrate` and `errand migrate status`.
enum MigrateCommands {
    static let all = [migrate, status]

    private static let schedules = Option<[String]>.list(
        "schedules", ValueFormat("QUEUE", expected: "the name of a queue") { $0 },
        help: "Declare the schedules of these queues too")

    private static let migrate = Command(
        "migrate", effect: .changes, summary: "Apply the pending migrations",
        discussion: """
            Applies each migration that this database lacks in a transaction of its own, under \
            an advisory lock, and records its checksum. Running it twice does no harm.

            A worker declares the schedules of its queues when it starts. Where no worker runs \
            until there is work, as with an autoscaler that goes down to none, --schedules \
            declares them without one.
            """,
        examples: [
            .init("errand migrate", "bring the schema up to date"),
            .init(
                "errand migrate --schedules missions,votes",
                "also what makes the first jobs of queues whose workers come with the jobs"),
        ],
        options: [schedules, AuditOptions.reason]
    ) { invocation in
        let queues = Set(invocation[schedules])
        let scheduling = try Kinds.scheduling(invocation)
        try check(queues, scheduling)
        let session = try invocation.patientSession()
        let applied = try await Migrator(session: session).migrate()
        let line = AuditLine(
            operatorName: invocation.operatorName, action: "migrate", subject: "schema",
            reason: invocation[AuditOptions.reason],
            change: try AuditLine.json(["applied": applied.map(\.number)]))
        _ = try await session.pipeline(
            Kinds.all().declarations(schedulesOf: [])
                + scheduling.declarations(schedulesOf: queues)
                + (applied.isEmpty ? [] : [line.statement]))
        let records = applied.map { migration in
            Record([
                ("number", .int(migration.number)), ("name", .text(migration.name)),
                ("state", .text("applied")),
            ])
        }
        try invocation.output.list(records, empty: "nothing to do: the schema is up to date")
        return .done
    }

    private static func check(
        _ queues: Set<String>, _ kinds: JobKinds
    ) throws(CommandFailure) {
        let known = kinds.scheduledQueues
        guard let strange = queues.subtracting(known).min() else { return }
        throw CommandFailure(
            exit: .usage, message: "no schedule makes jobs of the queue \(strange)",
            hint: "queues with schedules: \(known.sorted().joined(separator: ", "))"
                + (known.contains(SweepVotes.options.queue)
                    ? "" : "; votes too, where \(KeySettings.variable) names their keys"))
    }

    private static let status = Command(
        "migrate", "status", effect: .looks, summary: "List the migrations and where each stands",
        examples: [.init("errand migrate status", "what is pending")]
    ) { invocation in
        let list = try await Migrator(session: try invocation.session()).status()
        let records = list.map { migration in
            Record([
                ("number", .int(migration.number)), ("name", .text(migration.name)),
                ("state", .marked(migration.state.rawValue, style(migration.state))),
                ("applied_at", .optional(migration.appliedAt) { $0.cell }),
            ])
        }
        try invocation.output.list(records)
        for migration in list {
            switch migration.state {
            case .applied, .pending: break
            case .changed:
                throw MigrationError.changed(number: migration.number, name: migration.name)
            case .unknown:
                throw MigrationError.unknown(number: migration.number, name: migration.name)
            }
        }
        return .done
    }

    private static func style(_ state: MigrationStatus.State) -> Style {
        switch state {
        case .applied: .green
        case .pending: .yellow
        case .changed, .unknown: .red
        }
    }
}
