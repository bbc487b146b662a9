import FoundationEssentials

/// Work to be done later, as a value: its stored properties are the arguments.
///
/// The arguments are kept as JSON in PostgreSQL and show up in listings, so they should carry ids
/// rather than personal data. `kind` is written beside every job: it must stay the same when the
/// type is renamed.
///
/// ```swift
/// struct SendReceipt: Job {
///     static let kind = "receipt.send"
///     static let options = JobOptions(queue: "mail", maxAttempts: 8, timeout: .seconds(30))
///     var orderID: Int64
/// }
/// ```
public protocol Job: Codable, Sendable {
    /// The stable name of this sort of job: up to 100 of `a-z 0-9 . _ -`.
    static var kind: String { get }

    /// What an enqueue gets unless it says otherwise.
    static var options: JobOptions { get }

    /// The version of the arguments' form, from 1; raise it when old arguments no longer decode.
    static var argsVersion: Int { get }

    /// How arguments of earlier versions are lifted to this type.
    static var upcasters: [Upcaster<Self>] { get }

    /// Names of fields of the arguments, at any depth and as they are called in JSON, that carry
    /// personal data: listings show `[redacted]` in their place.
    static var sensitive: Set<String> { get }
}

extension Job {
    /// The defaults of every job.
    public static var options: JobOptions { JobOptions() }
    /// The first version.
    public static var argsVersion: Int { 1 }
    /// None: there is only one version.
    public static var upcasters: [Upcaster<Self>] { [] }
    /// None: arguments should carry ids.
    public static var sensitive: Set<String> { [] }
}

/// Lifts the arguments of an earlier version to the present type.
///
/// ```swift
/// static let argsVersion = 2
/// static let upcasters = [Upcaster(from: 1, OldReceipt.self) { SendReceipt(orderID: $0.order) }]
/// ```
public struct Upcaster<Lifted: Job>: Sendable {
    /// The version that it reads.
    public let version: Int
    let lift: @Sendable (Data, JSONDecoder) throws -> Lifted

    /// Declares the form of an earlier version and the way up from it.
    public init<Old: Decodable & SendableMetatype>(
        from version: Int, _ old: Old.Type, lift: @escaping @Sendable (Old) throws -> Lifted
    ) {
        self.version = version
        self.lift = { data, decoder in try lift(decoder.decode(old, from: data)) }
    }
}

/// Which of the waiting jobs of a queue goes first.
public enum Priority: Int16, Sendable, Codable, CaseIterable, Comparable {
    case critical = 0
    case high = 1
    case normal = 2
    case low = 3

    /// The more urgent is the lesser.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// How a kind of job is treated; every field can be overridden for one job (``EnqueueOptions``).
public struct JobOptions: Sendable, Equatable {
    /// The queue that it waits in.
    public var queue: String
    /// Its place in the queue.
    public var priority: Priority
    /// How many attempts may fail or be lost before the job is dead, 1 to 32767.
    public var maxAttempts: Int
    /// How long to wait after a failed attempt.
    public var backoff: Backoff
    /// How long one attempt may take; then its task is cancelled and the attempt has failed.
    public var timeout: Duration
    /// How long a completed or cancelled job can be looked up; zero keeps no trace.
    public var retention: Duration

    /// Options with production defaults.
    public init(
        queue: String = "default", priority: Priority = .normal, maxAttempts: Int = 20,
        backoff: Backoff = Backoff(), timeout: Duration = .seconds(300),
        retention: Duration = .seconds(7 * 86_400)
    ) {
        self.queue = queue
        self.priority = priority
        self.maxAttempts = maxAttempts
        self.backoff = backoff
        self.timeout = timeout
        self.retention = retention
    }
}

/// Exponential waiting with jitter, so that jobs which failed together do not return together.
public struct Backoff: Sendable, Equatable, Codable {
    /// The wait after the first failure, in seconds.
    public var base: Double
    /// By how much each further failure multiplies it.
    public var factor: Double
    /// The longest wait, in seconds.
    public var ceiling: Double
    /// The share of the wait that is drawn by lot, 0 to 1.
    public var jitter: Double

    /// By default 15 s, 30 s, 60 s … up to an hour, a quarter of each drawn by lot.
    public init(
        base: Double = 15, factor: Double = 2, ceiling: Double = 3600, jitter: Double = 0.25
    ) {
        self.base = base
        self.factor = factor
        self.ceiling = ceiling
        self.jitter = jitter
    }

    /// The wait before the next attempt.
    ///
    /// - Parameters:
    ///   - attempt: how many attempts have failed, from 1.
    ///   - chance: 0 to 1, drawn by the caller.
    public func delay(after attempt: Int, chance: Double) -> Duration {
        var seconds = base
        for _ in 1..<max(attempt, 1) where seconds < ceiling { seconds *= factor }
        seconds = min(seconds, ceiling)
        return .microseconds(Int64(seconds * (1 - jitter * chance) * 1_000_000))
    }
}
