@_exported public import Errand
@_exported public import struct ErrandStatusPage.MetricFamily
@_exported public import ErrandTerminal
import ErrandMemory
import ErrandPostgres
import FoundationEssentials
import Glibc

/// The entry point of a custom program: worker, scheduler, command line, probes and metrics for
/// its modules.
public enum ErrandCommand {
    /// Runs the command that the process's arguments name, and exits the process.
    ///
    /// - Parameters:
    ///   - name: the program's name in its help.
    ///   - version: the program's version; workers show it.
    ///   - summary: one line, without a period.
    ///   - modules: the program's modules, in any order; the engine is always included.
    public static func main(
        name: String = "errand", version: String = Build.version,
        summary: String = "A job queue on PostgreSQL and Redis: its worker and its tools",
        modules: [any Module]
    ) async -> Never {
        CoreDumps.forbid()
        MallocArenas.limit(to: 2)
        let environment = ProcessInfo.processInfo.environment
        let program = program(name: name, version: version, summary: summary, modules: modules)
        let exitCode = await program.run(
            Array(CommandLine.arguments.dropFirst()), environment: environment,
            screen: Screen.standard(environment: environment))
        // Not exit(): a connecting thread may still use what it tears down, such as OpenSSL.
        _exit(exitCode.rawValue)
    }

    /// The program that ``main(name:version:summary:modules:)`` runs.
    package static func program(
        name: String, version: String, summary: String, modules: [any Module]
    ) -> Program {
        var nouns = engineNouns
        for module in modules { nouns.merge(module.nouns) { own, _ in own } }
        return Program(
            name: name, version: version, summary: summary, nounSummaries: nouns,
            commands: engineCommands(before: modules.flatMap(ofModule)),
            context: Modules(modules), localTimes: LocalZone.times, describe: describe)
    }

    /// The commands in the order of the overview: of jobs, of modules, of operations.
    private static func engineCommands(before ofModules: [Command]) -> [Command] {
        MigrateCommands.all + WorkCommand.all + EnqueueCommand.all + JobCommands.all
            + DeadCommands.all + ofModules
            + OperationCommands.all + AuditCommands.all + QueueCommands.all + KindCommands.all
            + ScheduleCommands.all + WorkerCommands.all + LeaderCommands.all + RedisCommands.all
            + DatabaseCommands.all + StatusCommand.all + TopCommand.all + DoctorCommand.all
            + ContextCommands.all + ShellCommands.all
    }

    /// The commands of a module; they fail with a clear error if it is not installed.
    private static func ofModule(_ module: any Module) -> [Command] {
        guard !module.migrations.isEmpty else { return module.commands }
        return module.commands.map { command in
            command.mapped { invocation, run in
                do { return try await run(invocation) } catch {
                    guard isMissingObject(error),
                        try await !invocation.isInstalled(module.name)
                    else { throw error }
                    throw CommandFailure(
                        exit: .refused,
                        message: "the module \(module.name) is not installed in this database",
                        hint: "\(invocation.program.name) migrate --modules \(module.name)")
                }
            }
        }
    }

    private static let engineNouns = [
        "migrate": "Install or update the database schema",
        "job": "List, explain, retry, cancel and change jobs",
        "dead": "List, group, redrive and discard dead letters",
        "op": "List, cancel and resume bulk operations",
        "audit": "List operators' changes",
        "kind": "List kinds of jobs with counts, failure rates and durations",
        "queue": "List, pause, resume, limit, drain and purge queues",
        "schedule": "List, add, change, pause and run schedules",
        "worker": "List, quiet and stop worker processes",
        "db": "Show the state, retention and bloat of the database, create partitions",
        "redis": "Check Redis against PostgreSQL, and rebuild it",
        "leader": "Show the leaders, and make them step down",
        "context": "List and select contexts: named sets of servers",
    ]
}

/// Whether a statement referred to an object that does not exist in the database.
private func isMissingObject(_ error: any Error) -> Bool {
    guard case .server(let server)? = error as? PostgresError else { return false }
    return ["3F000", "42P01", "42883", "42704"].contains(server.sqlState)
}

extension Invocation {
    /// Whether a module is installed; true if that cannot be determined.
    fileprivate func isInstalled(_ module: String) async throws -> Bool {
        let session = try readOnlySession()
        guard let status = try? await Migrator(session: session).status() else { return true }
        return status.contains { $0.module == module && $0.isInstalled }
    }
}
