public import Errand
public import ErrandPostgres
public import ErrandTerminal

/// One domain of a program: its schema, its jobs and schedules, and its commands, findings and
/// metrics for operators. A program is assembled from modules:
///
/// ```swift
/// struct Shop: Module {
///     let migrations = MigrationLine(module: "shop", files: [
///         .init("tables/001_orders.sql", "CREATE SCHEMA shop; CREATE TABLE shop.orders (…)"),
///     ])
///     func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
///         kinds.handle(SendReceipt.self) { job, context in … }
///     }
/// }
///
/// @main struct Program {
///     static func main() async { await ErrandCommand.main(modules: [Shop()]) }
/// }
/// ```
///
/// Every requirement except ``migrations`` has an empty default.
public protocol Module: Sendable {
    /// The module's SQL migrations, with its name and the modules that it needs.
    var migrations: MigrationLine { get }

    /// The PostgreSQL extensions that its SQL uses, such as `postgis`.
    var extensions: [String] { get }

    /// Adds its kinds of jobs, with their handlers and schedules.
    ///
    /// - Throws: `CommandFailure` for invalid settings. For a listing no setting is set, and the
    ///   method must not require any.
    func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws

    /// The variables that a worker needs to run the jobs of a kind and queue, such as
    /// `ERRAND_SMTP_URL and ERRAND_MAIL_FROM`; nil for none.
    func settings(forKind kind: String, queue: String) -> String?

    /// Its commands, such as `order ls`.
    var commands: [Command] { get }

    /// A summary of each noun of its commands.
    var nouns: [String: String] { get }

    /// The meanings of the field names in its JSON.
    var fieldNames: [FieldName] { get }

    /// The environment variables that it reads, for the manual.
    var variables: [VariableName] { get }

    /// Its findings for `doctor`. Omit values that cannot be read: servers, migrations and
    /// privileges have findings of their own.
    func findings(of context: ModuleContext) async -> [Finding]

    /// Its metrics for `/metrics`, read every ten seconds at most.
    ///
    /// Each name begins with the module's name: `shop_orders`.
    func metrics(of context: ModuleContext) async throws -> [MetricFamily]
}

extension Module {
    /// None.
    public var extensions: [String] { [] }
    /// None.
    public func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {}
    /// Nothing.
    public func settings(forKind kind: String, queue: String) -> String? { nil }
    /// None.
    public var commands: [Command] { [] }
    /// None.
    public var nouns: [String: String] { [:] }
    /// None.
    public var fieldNames: [FieldName] { [] }
    /// None.
    public var variables: [VariableName] { [] }
    /// None.
    public func findings(of context: ModuleContext) async -> [Finding] { [] }
    /// None.
    public func metrics(of context: ModuleContext) async throws -> [MetricFamily] { [] }

    /// The module's name.
    public var name: String { migrations.module }
}

/// A field name in JSON, CSV and `--columns`, and its meaning.
public typealias FieldName = (name: String, meaning: String)

/// An environment variable, or several of one purpose, and its meaning.
public typealias VariableName = (name: String, meaning: String)

/// The purpose and the settings with which a module registers its kinds.
public struct ModuleSetup: Sendable {
    /// The purpose of the kinds.
    public enum Purpose: Sendable {
        /// Listing the kinds; no handler is called.
        case listing
        /// Declaring and firing schedules; no handler is called.
        case scheduling
        /// Running jobs.
        case working
    }

    /// The purpose of the kinds.
    public let purpose: Purpose
    /// The program's environment; empty for a listing.
    public let environment: [String: String]
    /// The modules in use.
    public let modules: [any Module]
    /// The queues that the worker serves; empty unless working.
    public let queues: ServedQueues
    /// The program's log.
    public let log: Log
}

/// The queues that a worker serves, by name and by pattern.
public struct ServedQueues: Sendable, ExpressibleByArrayLiteral {
    private let names: Set<String>
    private let patterns: [QueuePattern]

    /// Creates them from names and patterns, such as `mail` and `tenant-*`.
    public init(_ served: some Sequence<String>) {
        let all = served.map(QueuePattern.init)
        names = Set(all.filter { !$0.isPattern }.map(\.text))
        patterns = all.filter(\.isPattern)
    }

    /// Creates them from names and patterns.
    public init(arrayLiteral served: String...) { self.init(served) }

    /// Returns whether the worker serves a queue.
    public func contains(_ queue: String) -> Bool {
        names.contains(queue) || patterns.contains { $0.matches(queue) }
    }
}

/// The context of a module's findings and metrics.
public struct ModuleContext: Sendable {
    /// A read-only session with short timeouts.
    public let session: Session
    /// The program's environment.
    public let environment: [String: String]
    /// The installed modules of the program.
    public let modules: [any Module]
}
