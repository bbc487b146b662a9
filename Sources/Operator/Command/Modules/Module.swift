public import Errand
public import ErrandPostgres
public import ErrandTerminal

/// One domain whole: what it keeps in the database, which jobs it runs and when, and what it gives
/// the operator. A program is assembled from modules:
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
/// Everything but ``migrations`` has a default: nothing.
public protocol Module: Sendable {
    /// Its SQL, with its name and the modules that it needs.
    var migrations: MigrationLine { get }

    /// Extensions of PostgreSQL that its SQL uses, such as `postgis`.
    var extensions: [String] { get }

    /// Adds its kinds of job, with their handlers and schedules.
    ///
    /// - Throws: what is wrong with the settings that it reads, as `CommandFailure`; for a mere
    ///   listing nothing is set, and nothing must be missed.
    func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws

    /// What a worker's environment has to hold for it to run the jobs of a kind and queue, such as
    /// `ERRAND_SMTP_URL and ERRAND_MAIL_FROM`; nil for nothing.
    func settings(forKind kind: String, queue: String) -> String?

    /// Its commands, such as `order ls`.
    var commands: [Command] { get }

    /// A line for each first word of its commands.
    var nouns: [String: String] { get }

    /// What the names of fields in its JSON mean.
    var fieldNames: [FieldName] { get }

    /// The variables of the environment that it reads, for the manual.
    var variables: [VariableName] { get }

    /// What `doctor` finds of it. What cannot be read is left out: servers, migrations and rights
    /// have findings of their own.
    func findings(of checkup: Checkup) async -> [Finding]

    /// Its numbers for `/metrics`, read every ten seconds at most.
    ///
    /// Each name begins with the module's: `shop_orders`.
    func metrics(of checkup: Checkup) async throws -> [MetricFamily]
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
    public func findings(of checkup: Checkup) async -> [Finding] { [] }
    /// None.
    public func metrics(of checkup: Checkup) async throws -> [MetricFamily] { [] }

    /// What it is called.
    public var name: String { migrations.module }
}

/// What a name of a field in JSON, CSV and `--columns` means.
public typealias FieldName = (name: String, meaning: String)

/// What a variable of the environment, or several of one purpose, are for.
public typealias VariableName = (name: String, meaning: String)

/// For what a module is asked for its kinds, and by which settings.
public struct ModuleSetup: Sendable {
    /// What the kinds are for.
    public enum Purpose: Sendable {
        /// To know which there are; no handler will be called.
        case listing
        /// To declare and fire schedules; no handler will be called.
        case scheduling
        /// To run jobs.
        case working
    }

    /// What the kinds are for.
    public let purpose: Purpose
    /// The program's environment; empty for a mere listing.
    public let environment: [String: String]
    /// The modules that take part.
    public let modules: [any Module]
    /// The queues that the worker works; empty when it is none.
    public let queues: Set<String>
    /// The program's log.
    public let log: Log
}

/// What the checks of `doctor`, and metrics, go by.
public struct Checkup: Sendable {
    /// A read-only session in which nothing takes long.
    public let session: Session
    /// The program's environment.
    public let environment: [String: String]
    /// The modules of the program that are installed.
    public let modules: [any Module]
}
