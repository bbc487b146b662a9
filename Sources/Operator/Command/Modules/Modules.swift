import Errand
package import ErrandPostgres
package import ErrandTerminal
import Synchronization

/// The modules of a program, with their combined kinds, migrations and metrics.
package final class Modules: Sendable {
    package let all: [any Module]
    /// Created on first use: not every command needs the kinds.
    private let listed = Mutex<JobKinds?>(nil)

    /// The migrations that the modules require, besides the engine's.
    let required: [MigrationLine]

    package init(_ all: [any Module]) {
        self.all = all
        required = all.map(\.migrations).filter { !$0.isEmpty }
    }

    private init(usable: [any Module], required: [MigrationLine]) {
        all = usable
        self.required = required
    }

    /// The modules' SQL, without the engine's.
    var lines: [MigrationLine] { all.map(\.migrations) }

    /// The modules usable in a database: installed ones, and those without migrations.
    func usable(_ installed: Set<String>) -> Modules {
        var names = installed
        // A new version of a module may need another module.
        var count = 0
        while count != names.count {
            count = names.count
            for line in lines where names.contains(line.module) { names.formUnion(line.needs) }
        }
        return Modules(
            usable: all.filter { $0.migrations.isEmpty || installed.contains($0.name) },
            required: lines.filter { !$0.isEmpty && names.contains($0.module) })
    }

    /// The kinds of all modules.
    func kinds(_ setup: ModuleSetup) throws -> JobKinds {
        var kinds = JobKinds()
        for module in all { try module.register(in: &kinds, for: setup) }
        return kinds
    }

    /// The kinds for listing and enqueueing, without those of modules that throw.
    func listedKinds() -> JobKinds {
        if let known = listed.withLock({ $0 }) { return known }
        var kinds = JobKinds()
        for module in all {
            var more = kinds
            do { try module.register(in: &more, for: listing) } catch { continue }
            kinds = more
        }
        listed.withLock { [kinds] in $0 = kinds }
        return kinds
    }

    /// Checks that all modules can be listed.
    ///
    /// - Throws: the error of a module that requires settings for a listing.
    func checkListing() throws { _ = try kinds(listing) }

    private var listing: ModuleSetup {
        ModuleSetup(
            purpose: .listing, environment: [:], modules: all, queues: [], log: Log { _ in })
    }

    /// The metrics of the installed modules, and the last failure.
    package func metrics(
        _ session: Session, environment: [String: String]
    ) async -> (families: [MetricFamily], failure: String?) {
        var families: [MetricFamily] = []
        var failure: String?
        do {
            let installed = try await MigrationRecords.installedModules(session)
            let usable = usable(installed).all
            let context = ModuleContext(session: session, environment: environment, modules: usable)
            for module in usable {
                do {
                    let own = try await module.metrics(of: context)
                    families += own.filter { $0.name.hasPrefix(module.name + "_") }
                    if let other = own.first(where: { !$0.name.hasPrefix(module.name + "_") }) {
                        failure =
                            "metric \(other.name) of module \(module.name): the name must begin "
                            + "with \(module.name)_"
                    }
                } catch { failure = "\(module.name): \(error)" }
            }
        } catch { failure = "\(error)" }
        return (families, failure)
    }

    /// The modules that are not usable but have kinds on these queues.
    func lacking(_ usable: Modules, on queues: ServedQueues) -> [String] {
        let here = Set(usable.all.map(\.name))
        return all.filter { module in
            guard !here.contains(module.name) else { return false }
            var kinds = JobKinds()
            do { try module.register(in: &kinds, for: listing) } catch { return false }
            return kinds.names.contains { queues.contains(kinds.options(of: $0)?.queue ?? "") }
        }.map(\.name)
    }

    /// The command that starts a worker for a lane's jobs; nil if this program cannot run them.
    func workCommand(for lane: Lane) -> String? {
        guard listedKinds().argsVersion(of: lane.kind) == lane.version else { return nil }
        let settings = all.lazy.compactMap { module in
            module.settings(forKind: lane.kind, queue: lane.queue)
        }.first
        return "errand work --queues \(shellWord(lane.queue))"
            + (settings.map { "  # with \($0) set" } ?? "")
    }
}

extension Invocation {
    /// The modules of this program.
    package var modules: Modules { program.context as? Modules ?? Modules([]) }

    /// The modules of this program that are usable in the database.
    ///
    /// - Throws: ``MigrationError/notInstalled(module:)`` if it has no schema of Errand.
    package func usableModules(_ session: Session) async throws -> Modules {
        let status = try await Migrator(session: session, modules: modules.lines).status()
        let installed = Set(status.filter(\.isInstalled).map(\.module))
        guard installed.contains(MigrationLine.engine.module) else {
            throw MigrationError.notInstalled(module: MigrationLine.engine.module)
        }
        return modules.usable(installed)
    }

    /// Refuses a schema older than this program.
    ///
    /// A newer one, as during a rolling deployment, is only logged.
    func requireSchema(_ session: Session) async throws {
        let lines = try await usableModules(session).required
        let ahead = try await Migrator(session: session, modules: lines).requireCurrent()
        for module in ahead {
            guard let file = module.deviating else { continue }
            try log.with("module", module.module).with("file", file.path).warning(
                "the schema is \(file.state.rawValue) to this program: another version migrated it")
        }
    }

    /// The kinds for scheduling, with the schedules of this environment.
    func schedulingKinds(_ modules: Modules) throws -> JobKinds {
        try modules.kinds(
            ModuleSetup(
                purpose: .scheduling, environment: environment, modules: modules.all, queues: [],
                log: try log))
    }

    /// The kinds that a worker of these queues can run.
    func workingKinds(
        _ modules: Modules, queues: ServedQueues, log: Log
    ) throws -> JobKinds {
        try modules.kinds(
            ModuleSetup(
                purpose: .working, environment: environment, modules: modules.all, queues: queues,
                log: log))
    }
}
