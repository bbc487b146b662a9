@_exported public import Errand
@_exported public import struct ErrandStatusPage.MetricFamily
@_exported public import ErrandTerminal
import ErrandPostgres
import FoundationEssentials
import Glibc

/// A program of one's own: worker, scheduler, command line, probes and metrics for the modules that
/// it is made of.
public enum ErrandCommand {
    /// Runs the command that the process's arguments call for, and ends the process.
    ///
    /// - Parameters:
    ///   - name: what the program is called in its own help.
    ///   - version: the program's version; workers show it.
    ///   - summary: one line, without a full stop.
    ///   - modules: what it is made of, in any order; the engine is always there.
    public static func main(
        name: String = "errand", version: String = Build.version,
        summary: String = "A job queue on PostgreSQL and Redis: its worker and its tools",
        modules: [any Module]
    ) async -> Never {
        let environment = ProcessInfo.processInfo.environment
        let program = program(name: name, version: version, summary: summary, modules: modules)
        let exitCode = await program.run(
            Array(CommandLine.arguments.dropFirst()), environment: environment,
            screen: Screen.standard(environment: environment))
        // Not exit(): what it tears down, such as OpenSSL, a thread that still connects may be
        // using.
        _exit(exitCode.rawValue)
    }

    private static func program(
        name: String, version: String, summary: String, modules: [any Module]
    ) -> Program {
        var nouns = engineNouns
        for module in modules { nouns.merge(module.nouns) { own, _ in own } }
        return Program(
            name: name, version: version, summary: summary, nounSummaries: nouns,
            commands: engineCommands(before: modules.flatMap(ofModule)),
            context: Modules(modules), localTimes: LocalZone.times, describe: describe)
    }

    /// The commands in the order of the overview: those of jobs, of modules, of operations.
    private static func engineCommands(before ofModules: [Command]) -> [Command] {
        MigrateCommands.all + WorkCommand.all + EnqueueCommand.all + JobCommands.all
            + DeadCommands.all + ofModules
            + OperationCommands.all + AuditCommands.all + QueueCommands.all + KindCommands.all
            + ScheduleCommands.all + WorkerCommands.all + LeaderCommands.all + RedisCommands.all
            + DatabaseCommands.all + StatusCommand.all + TopCommand.all + DoctorCommand.all
            + ContextCommands.all + ShellCommands.all
    }

    /// The commands of a module; where it is not installed, they say so.
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
        "migrate": "Bring the database's schema up to date",
        "job": "Look at jobs, say why they do not run, and act on them",
        "dead": "Look at dead letters, let them run again or delete them",
        "op": "Look at bulk operations, cancel and resume them",
        "audit": "See what operators changed",
        "kind": "Look at the kinds of job: how often they fail, how long they take",
        "queue": "Look at queues, pause, resume, limit, drain and purge them",
        "schedule": "Make jobs by the clock: add, change, pause and run schedules",
        "worker": "Look at the worker processes, let them be quiet or stop",
        "db": "See how the database is and what bloats it, make missing partitions",
        "redis": "Compare Redis with PostgreSQL, and fill it anew",
        "leader": "See who leads, and let another one take over",
        "context": "Name sets of servers, and use one of them",
    ]
}

/// Whether a statement named what is not in the database.
private func isMissingObject(_ error: any Error) -> Bool {
    guard case .server(let server)? = error as? PostgresError else { return false }
    return ["3F000", "42P01", "42883", "42704"].contains(server.sqlState)
}

extension Invocation {
    /// Whether a module is installed; true where that cannot be read.
    fileprivate func isInstalled(_ module: String) async throws -> Bool {
        let session = try readOnlySession()
        guard let status = try? await Migrator(session: session).status() else { return true }
        return status.contains { $0.module == module && $0.isInstalled }
    }
}
