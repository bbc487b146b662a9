package import ErrandPostgres
import FoundationEssentials

/// The kinds of job that a program can run, each with its handler, and their schedules.
///
/// ```swift
/// var kinds = JobKinds()
/// kinds.handle(SendReceipt.self) { job, context in
///     try await mailer.send(receiptFor: job.orderID, idempotencyKey: context.idempotencyKey)
/// }
/// ```
///
/// A handler that returns completes its job. A handler that throws fails the attempt: the job is
/// retried with its backoff, and becomes a dead letter after its last attempt. Use
/// ``handleWithOutcome(_:_:)`` to snooze, discard or fail a job deliberately, and
/// ``handleBatch(_:upTo:_:)`` to take many jobs at once. The task of a handler is cancelled at the
/// job's timeout and when an operator cancels the job.
public struct JobKinds: Sendable {
    private(set) var registrations: [String: Registration] = [:]
    /// The declared schedules, by name.
    private(set) var schedules: [String: Schedule] = [:]
    /// The statements by which modules declare more; see ``declare(_:)``.
    private(set) var moduleDeclarations: [Statement] = []

    /// Creates an empty registry.
    public init() {}

    /// Registers the handler of a kind.
    ///
    /// Returning completes the job; throwing fails the attempt.
    public mutating func handle<Work: Job>(
        _ type: Work.Type,
        _ body: @escaping @Sendable (Work, JobContext) async throws -> Void
    ) {
        handleWithOutcome(type) { job, context in
            try await body(job, context)
            return .done
        }
    }

    /// Registers the handler of a kind that returns the job's outcome.
    public mutating func handleWithOutcome<Work: Job>(
        _ type: Work.Type,
        _ body: @escaping @Sendable (Work, JobContext) async throws -> Outcome
    ) {
        let decoder = ArgumentDecoder(type)
        register(type, batchLimit: 1) { claims in
            guard let claim = claims.first else { return [] }
            return [
                try await body(decoder.decode(claim.args, version: claim.version), claim.context)
            ]
        }
    }

    /// Registers a handler that takes up to `limit` waiting jobs of its kind at once.
    ///
    /// - Parameters:
    ///   - type: the kind of job.
    ///   - limit: the maximum number of jobs in a batch.
    ///   - body: the handler. It returns one outcome for each item, in the same order. If it
    ///     throws, the attempt of every item fails.
    public mutating func handleBatch<Work: Job>(
        _ type: Work.Type, upTo limit: Int,
        _ body: @escaping @Sendable (JobBatch<Work>) async throws -> [Outcome]
    ) {
        let decoder = ArgumentDecoder(type)
        register(type, batchLimit: max(limit, 1)) { claims in
            var outcomes = [Outcome?](repeating: nil, count: claims.count)
            var items: [JobBatch<Work>.Item] = []
            var places: [Int] = []
            for (place, claim) in claims.enumerated() {
                do {
                    let job = try decoder.decode(claim.args, version: claim.version)
                    items.append(.init(job: job, context: claim.context))
                    places.append(place)
                } catch let error as UndecodableArguments {
                    outcomes[place] = .dead(reason: error.description)
                }
            }
            if !items.isEmpty {
                let made = try await body(JobBatch(items: items))
                guard made.count == items.count else {
                    throw JobError.invalid(
                        "the batch handler of \(Work.kind) returned \(made.count) outcomes for "
                            + "\(items.count) jobs: it must return one for each")
                }
                for (outcome, place) in zip(made, places) { outcomes[place] = outcome }
            }
            return outcomes.map { $0 ?? .done }
        }
    }

    /// Declares a schedule.
    ///
    /// A worker that starts with these kinds and works the queue of its jobs writes the schedule to
    /// the database. Changes that an operator made there are kept.
    public mutating func schedule(_ schedule: Schedule) {
        precondition(
            schedules[schedule.name] == nil, "two schedules are named \(schedule.name)")
        // The initializer checked the schedule, but the program may have changed it since.
        if let fault = schedule.fault { preconditionFailure("schedule \(schedule.name): \(fault)") }
        schedules[schedule.name] = schedule
    }

    /// The names of the kinds, sorted.
    public var names: [String] { registrations.keys.sorted() }

    /// Returns whether the program has a handler for a kind.
    public func contains(_ kind: String) -> Bool { registrations[kind] != nil }

    /// Returns the default options of a kind; nil for an unknown kind.
    public func options(of kind: String) -> JobOptions? { registrations[kind]?.options }

    /// Returns the current version of a kind's arguments; nil for an unknown kind.
    public func argsVersion(of kind: String) -> Int? { registrations[kind]?.version }

    /// The sensitive fields of each kind that has any (``Job/sensitive``).
    package var sensitive: [String: Set<String>] {
        registrations.compactMapValues { $0.sensitive.isEmpty ? nil : $0.sensitive }
    }

    /// The kinds and versions that this program can run, as `kind@version`.
    var capabilities: [String] {
        registrations.values.flatMap { known in
            known.versions.sorted().map { "\(known.kind)@\($0)" }
        }.sorted()
    }

    /// Adds a statement that declares something of a module, such as its kinds of notice.
    ///
    /// It is executed whenever the kinds of jobs are declared: by `errand migrate`, and by each
    /// worker that starts. It must be idempotent.
    package mutating func declare(_ statement: Statement) { moduleDeclarations.append(statement) }

    private mutating func register<Work: Job>(
        _ type: Work.Type, batchLimit: Int,
        run: @escaping @Sendable ([Registration.Claim]) async throws -> [Outcome]
    ) {
        precondition(
            registrations[Work.kind] == nil, "the kind \(Work.kind) has two handlers")
        precondition(
            JobKinds.isName(Work.kind, limit: 100),
            "kind \(Work.kind): expected up to 100 of a-z, 0-9, dot, dash, underscore")
        registrations[Work.kind] = Registration(
            kind: Work.kind, version: Work.argsVersion,
            versions: Set(Work.upcasters.map(\.version) + [Work.argsVersion]),
            options: Work.options, sensitive: Work.sensitive, isOpenToApps: Work.isOpenToApps,
            batchLimit: batchLimit, run: run)
    }

    /// Returns whether a text is a valid name of a kind or a queue.
    package static func isName(_ text: String, limit: Int) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= limit else { return false }
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (97...122).contains(byte) || (48...57).contains(byte)
        }
        return isAlphanumeric(first)
            && text.utf8.allSatisfy { isAlphanumeric($0) || $0 == 95 || $0 == 46 || $0 == 45 }
    }
}

/// A kind and its handler, with the type erased.
struct Registration: Sendable {
    /// A claimed job in the form that its handler receives.
    struct Claim: Sendable {
        var args: [UInt8]
        var version: Int
        var context: JobContext
    }

    var kind: String
    var version: Int
    var versions: Set<Int>
    var options: JobOptions
    var sensitive: Set<String>
    var isOpenToApps: Bool
    var batchLimit: Int
    var run: @Sendable ([Claim]) async throws -> [Outcome]
}

/// A batch of waiting jobs of one kind.
public struct JobBatch<Work: Job>: Sendable {
    /// One job of the batch.
    public struct Item: Sendable {
        /// The arguments.
        public var job: Work
        /// The attempt: id, deadline and so on.
        public var context: JobContext
    }

    /// The jobs, in the order of the queue.
    public var items: [Item]
}

/// Arguments that do not decode.
///
/// Retrying cannot help, so the job becomes a dead letter at once.
struct UndecodableArguments: Error, CustomStringConvertible {
    var kind: String
    var version: Int
    var cause: String

    var description: String {
        "the arguments do not decode as \(kind) version \(version): \(cause)"
    }
}

/// Decodes arguments of any known version as the current type.
private struct ArgumentDecoder<Work: Job>: Sendable {
    private let decoder = JobCoding.decoder
    private let upcasters: [Int: Upcaster<Work>]

    init(_ type: Work.Type) {
        upcasters = Dictionary(
            Work.upcasters.map { ($0.version, $0) }, uniquingKeysWith: { first, _ in first })
    }

    func decode(_ args: [UInt8], version: Int) throws -> Work {
        do {
            let data = Data(args)
            if version == Work.argsVersion { return try decoder.decode(Work.self, from: data) }
            guard let upcaster = upcasters[version] else {
                throw JobError.invalid("no upcaster reads this version")
            }
            return try upcaster.lift(data, decoder)
        } catch {
            throw UndecodableArguments(
                kind: Work.kind, version: version, cause: JobCoding.explain(error))
        }
    }
}
