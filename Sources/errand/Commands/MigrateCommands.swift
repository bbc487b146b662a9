import JobQueue
import Migrations
import Postgres
import Terminal

/// `errand migrate` and `errand migrate status`.
enum MigrateCommands {
    static let all = [migrate, status]

    private static let migrate = Command(
        "migrate", effect: .changes, summary: "Apply the pending migrations",
        discussion: """
            Applies each migration that this database lacks in a transaction of its own, under \
            an advisory lock, and records its checksum. Running it twice does no harm.
            """,
        examples: [.init("errand migrate", "bring the schema up to date")],
        options: [AuditOptions.reason]
    ) { invocation in
        let session = try invocation.patientSession()
        let applied = try await Migrator(session: session).migrate()
        let line = AuditLine(
            operatorName: invocation.operatorName, action: "migrate", subject: "schema",
            reason: invocation[AuditOptions.reason],
            change: try AuditLine.json(["applied": applied.map(\.number)]))
        _ = try await session.pipeline(
            Kinds.all().declarations() + (applied.isEmpty ? [] : [line.statement]))
        let records = applied.map { migration in
            Record([
                ("number", .int(migration.number)), ("name", .text(migration.name)),
                ("state", .text("applied")),
            ])
        }
        try invocation.output.list(records, empty: "nothing to do: the schema is up to date")
        return .done
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
