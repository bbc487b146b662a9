import FoundationEssentials

/// The kinds of job that a program can run, each with its handler.
///
/// ```swift
/// var kinds = JobKinds()
/// kinds.handle(SendReceipt.self) { job, context in
///     try await mailer.send(receiptFor: job.orderID, idempotencyKey: context.idempotencyKey)
/// }
/// ```
public struct JobKinds: Sendable {
    private(set) var registrations: [String: Registration] = [:]
    /// The schedules declared beside them, by name.
    private(set) var schedules: [String: Schedule] = [:]

    /// No kinds yet.
    public init() {}

    /// Declares how one kind of job is run; returning means that it is done.
    public mutating func handle<Work: Job>(
        _ type: Work.Type,
        _ body: @escaping @Sendable (Work, JobContext) async throws -> Void
    ) {
        handleWithOutcome(type) { job, context in
            try await body(job, context)
            return .done
        }
    }

    /// Declares how one kind of job is run, with the outcome that the handler chooses.
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

    /// Declares a handler that takes up to `limit` waiting jobs of its kind at once.
    ///
    /// - Parameter body: returns one outcome for each item, in their order. If it throws, each of
    ///   them has failed.
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

    /// Declares when jobs of a kind are made by the clock.
    ///
    /// A worker that starts with these kinds and works the queue of its jobs writes it into the
    /// database; what an operator changed there stays.
    public mutating func schedule(_ schedule: Schedule) {
        precondition(
            schedules[schedule.name] == nil, "two schedules of the name \(schedule.name)")
        // What was wrong when it was made was thrown there; it may have been changed since.
        if let fault = schedule.fault { preconditionFailure("schedule \(schedule.name): \(fault)") }
        schedules[schedule.name] = schedule
    }

    /// The names of the kinds, sorted.
    public var names: [String] { registrations.keys.sorted() }

    /// Whether a kind can be run here.
    public func contains(_ kind: String) -> Bool { registrations[kind] != nil }

    /// What a kind asks for by default; nil for a kind that is not known here.
    public func options(of kind: String) -> JobOptions? { registrations[kind]?.options }

    /// The current version of a kind's arguments; nil for a kind that is not known here.
    public func argsVersion(of kind: String) -> Int? { registrations[kind]?.version }

    /// The sensitive fields of each kind that has any (``Job/sensitive``).
    package var sensitive: [String: Set<String>] {
        registrations.compactMapValues { $0.sensitive.isEmpty ? nil : $0.sensitive }
    }

    /// All that can be run here: `kind@version`.
    var capabilities: [String] {
        registrations.values.flatMap { known in
            known.versions.sorted().map { "\(known.kind)@\($0)" }
        }.sorted()
    }

    private mutating func register<Work: Job>(
        _ type: Work.Type, batchLimit: Int,
        run: @escaping @Sendable ([Registration.Claim]) async throws -> [Outcome]
    ) {
        precondition(
            registrations[Work.kind] == nil, "two handlers for the kind \(Work.kind)")
        precondition(
            JobKinds.isName(Work.kind, limit: 100),
            "kind \(Work.kind): expected up to 100 of a-z, 0-9, dot, dash, underscore")
        registrations[Work.kind] = Registration(
            kind: Work.kind, version: Work.argsVersion,
            versions: Set(Work.upcasters.map(\.version) + [Work.argsVersion]),
            options: Work.options, sensitive: Work.sensitive, batchLimit: batchLimit, run: run)
    }

    /// Whether a text may name a kind or a queue.
    package static func isName(_ text: String, limit: Int) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= limit else { return false }
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (97...122).contains(byte) || (48...57).contains(byte)
        }
        return isAlphanumeric(first)
            && text.utf8.allSatisfy { isAlphanumeric($0) || $0 == 95 || $0 == 46 || $0 == 45 }
    }
}

/// A kind with its type erased.
struct Registration: Sendable {
    /// One job as a handler gets it.
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
    var batchLimit: Int
    var run: @Sendable ([Claim]) async throws -> [Outcome]
}

/// Some waiting jobs of one kind, taken together.
public struct JobBatch<Work: Job>: Sendable {
    /// One job of the batch.
    public struct Item: Sendable {
        /// Its arguments.
        public var job: Work
        /// Its id, attempt, deadline and so on.
        public var context: JobContext
    }

    /// The jobs, best first.
    public var items: [Item]
}

/// Arguments that no attempt can read: the job goes to the dead letters, not round and round.
struct UndecodableArguments: Error, CustomStringConvertible {
    var kind: String
    var version: Int
    var cause: String

    var description: String {
        "the arguments do not decode as \(kind) version \(version): \(cause)"
    }
}

/// Reads arguments of any known version into the present type.
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
