import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand migrate` and `errand migrate status`.
enum MigrateCommands {
    static let all = [migrate, status]

    private static let modules = Option<[String]>.list(
        "modules", ValueFormat("MODULE", expected: "the name of a module, or all") { $0 },
        environment: "ERRAND_MODULES",
        help: "Also install these modules and the modules they need, or all")
    private static let schedules = Option<[String]>.list(
        "schedules", ValueFormat("QUEUE", expected: "the name of a queue") { $0 },
        help: "Also declare the schedules of these queues")

    private static let migrate = Command(
        "migrate", effect: .write, summary: "Install or update the schema",
        discussion: """
            Installs the engine if it is missing, and updates it and the installed modules. With \
            --modules it installs further modules. It runs in one transaction under an advisory \
            lock: if anything fails, the database is unchanged. Running it again has no effect.

            A worker declares the schedules of its queues when it starts. If no worker runs until \
            there are jobs, as with an autoscaler that scales to zero, --schedules declares them \
            without a worker.
            """,
        examples: [
            .init("errand migrate", "the engine and the installed modules"),
            .init("errand migrate --modules coupons,votes", "two modules, and those they need"),
            .init("errand migrate --modules all", "every module of this program"),
            .init(
                "errand migrate --schedules missions,votes",
                "also declare schedules whose workers start only when there are jobs"),
        ],
        options: [modules, schedules, AuditOptions.reason]
    ) { invocation in
        let session = try invocation.unlimitedSession()
        let migrator = Migrator(session: session, modules: invocation.modules.lines)
        let names = try named(invocation)
        let usable = invocation.modules.usable(try await migrator.planned(adding: names))
        let queues = Set(invocation[schedules])
        let scheduling = try invocation.schedulingKinds(usable)
        try check(queues, scheduling)
        try usable.checkListing()
        let applied = try await migrator.migrate(adding: names)
        let line = AuditLine(
            operatorName: invocation.operatorName, action: "migrate", subject: "schema",
            reason: invocation[AuditOptions.reason],
            change: try AuditLine.json(["applied": applied.map { "\($0.module)/\($0.file)" }]))
        _ = try await session.pipeline(
            usable.listedKinds().declarations { _ in false }
                + scheduling.declarations(schedulesOf: queues.contains)
                + (applied.isEmpty ? [] : [line.statement]))
        let records = applied.map { migration in
            Record([
                ("module", .text(migration.module)), ("file", .text(migration.file)),
                ("state", .text(ModuleStatus.File.State.applied.rawValue)),
            ])
        }
        try invocation.output.list(records, empty: "nothing to do: the schema is up to date")
        for module in try await migrator.status() {
            for file in module.files where file.state == .superseded {
                invocation.output.warn(
                    "\(module.module): \(file.path) was not applied: this database already had a "
                        + "later version of it; to apply it again, change it (a comment suffices)")
            }
        }
        return .done
    }

    /// The modules to install: those of the option; `all` means every module.
    private static func named(_ invocation: Invocation) throws(CommandFailure) -> [String] {
        let names = invocation[modules]
        let known = invocation.modules.lines.filter { !$0.isEmpty }.map(\.module)
        if let unknown = names.first(where: { $0 != "all" && !known.contains($0) }) {
            let guess = nearest(to: unknown, among: known).map { "did you mean '\($0)'? " } ?? ""
            let list =
                known.isEmpty ? "none in this program" : (known + ["all"]).joined(separator: ", ")
            throw CommandFailure(
                exit: .usage, message: "there is no module '\(unknown)'",
                hint: guess + "modules: \(list)")
        }
        return names.contains("all") ? known : names
    }

    private static func check(
        _ queues: Set<String>, _ kinds: JobKinds
    ) throws(CommandFailure) {
        let known = kinds.scheduledQueues
        guard let unknown = queues.subtracting(known).min() else { return }
        throw CommandFailure(
            exit: .usage, message: "no schedule creates jobs in the queue \(unknown)",
            hint: "queues with schedules: "
                + (known.isEmpty ? "none" : known.sorted().joined(separator: ", "))
                + "; some need settings such as ERRAND_KEYS_FILE")
    }

    private static let status = Command(
        "migrate", "status", effect: .read,
        summary: "List the migrations of the engine and of modules, and their states",
        examples: [.init("errand migrate status", "installed and pending migrations")]
    ) { invocation in
        let all = try await Migrator(
            session: try invocation.session(), modules: invocation.modules.lines
        ).status()
        try invocation.output.list(all.flatMap(records))
        for module in all {
            guard let file = module.deviating else { continue }
            switch file.state {
            case .changed:
                throw MigrationError.changed(module: module.module, file: file.path)
            case .unknown:
                throw MigrationError.unknown(module: module.module, file: file.path)
            case .applied, .pending, .superseded: break
            }
        }
        return .done
    }

    /// A row per file; a single row for a module that is not installed or not of this program.
    private static func records(_ module: ModuleStatus) -> [Record] {
        guard module.isInstalled, module.isKnown else {
            let state = module.isInstalled ? "unknown" : "not installed"
            return [
                Record([
                    ("module", .text(module.module)), ("file", .text("")),
                    ("state", .text(state)),
                    ("applied_at", .optional(module.installedAt) { $0.cell }),
                ])
            ]
        }
        return module.files.map { file in
            Record([
                ("module", .text(module.module)), ("file", .text(file.path)),
                ("state", .marked(file.state.rawValue, style(file.state))),
                ("applied_at", .optional(file.appliedAt) { $0.cell }),
            ])
        }
    }

    private static func style(_ state: ModuleStatus.File.State) -> Style {
        switch state {
        case .applied: .green
        case .pending: .yellow
        case .superseded: .cyan
        case .changed, .unknown: .red
        }
    }
}
