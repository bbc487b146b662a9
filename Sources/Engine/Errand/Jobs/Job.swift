import FoundationEssentials

/// A kind of background work; the stored properties of a value are the arguments of one job.
///
/// The arguments are stored as JSON in PostgreSQL and appear in listings: use ids rather than
/// personal data. `kind` is stored with every job, so keep it when you rename the type.
///
/// ```swift
/// struct SendReceipt: Job {
///     static let kind = "receipt.send"
///     static let options = JobOptions(queue: "mail", maxAttempts: 8, timeout: .seconds(30))
///     var orderID: Int64
/// }
/// ```
public protocol Job: Codable, Sendable {
    /// The stable name of the kind: up to 100 characters of `a-z 0-9 . _ -`.
    static var kind: String { get }

    /// The defaults of jobs of this kind; ``EnqueueOptions`` override them for one job.
    static var options: JobOptions { get }

    /// The version of the arguments, from 1. Increase it when old arguments no longer decode.
    static var argsVersion: Int { get }

    /// The conversions of arguments of earlier versions to this type.
    static var upcasters: [Upcaster<Self>] { get }

    /// The JSON names of fields, at any depth, that carry personal data. Listings show `[redacted]`
    /// instead of their values.
    static var sensitive: Set<String> { get }

    /// Whether logins with only the rights of `errand_app` may enqueue jobs of this kind.
    ///
    /// The owner of the database and workers may enqueue every kind.
    static var isOpenToApps: Bool { get }
}

extension Job {
    /// The standard options.
    public static var options: JobOptions { JobOptions() }
    /// The first version.
    public static var argsVersion: Int { 1 }
    /// None: there is only one version.
    public static var upcasters: [Upcaster<Self>] { [] }
    /// None: arguments should carry ids.
    public static var sensitive: Set<String> { [] }
    /// No: what an app may start is declared.
    public static var isOpenToApps: Bool { false }
}

/// Converts the arguments of an earlier version to the current type.
///
/// ```swift
/// static let argsVersion = 2
/// static let upcasters = [Upcaster(from: 1, OldReceipt.self) { SendReceipt(orderID: $0.order) }]
/// ```
public struct Upcaster<Lifted: Job>: Sendable {
    /// The version that it converts.
    public let version: Int
    let lift: @Sendable (Data, JSONDecoder) throws -> Lifted

    /// Declares the type of an earlier version and its conversion.
    public init<Old: Decodable & SendableMetatype>(
        from version: Int, _ old: Old.Type, lift: @escaping @Sendable (Old) throws -> Lifted
    ) {
        self.version = version
        self.lift = { data, decoder in try lift(decoder.decode(old, from: data)) }
    }
}

/// The order of the due jobs of a queue: those of a higher priority start first.
public enum Priority: Int16, Sendable, Codable, CaseIterable, Comparable {
    case critical = 0
    case high = 1
    case normal = 2
    case low = 3

    /// Orders by urgency: `.critical` is the smallest.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The options of a kind of job; ``EnqueueOptions`` override each of them for one job.
///
/// ```swift
/// static let options = JobOptions(queue: "mail", maxAttempts: 8, timeout: .seconds(30))
/// ```
public struct JobOptions: Sendable, Equatable {
    /// The queue; `default` unless given.
    public var queue: String
    /// The priority within the queue; `.normal` unless given.
    public var priority: Priority
    /// The maximum number of attempts, 1 to 32767; then the job becomes a dead letter.
    ///
    /// 20 unless given.
    public var maxAttempts: Int
    /// The waits after failed attempts.
    public var backoff: Backoff
    /// The time limit of one attempt; then its task is cancelled and the attempt fails.
    ///
    /// 5 minutes unless given.
    public var timeout: Duration
    /// How long a completed or cancelled job is kept; zero keeps nothing.
    ///
    /// 7 days unless given.
    public var retention: Duration

    /// Creates options with production defaults.
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

    /// The retention in days, rounded up; nil keeps nothing.
    var retentionDays: Int16? { Self.days(of: retention.components.seconds) }

    /// The days of a retention in seconds, rounded up, at most ten years; nil if it keeps nothing.
    static func days(of seconds: Int64) -> Int16? {
        seconds > 0 ? Int16(min((seconds - 1) / 86_400 + 1, 3_650)) : nil
    }
}

/// Exponential backoff with jitter, so that jobs that failed together do not retry together.
public struct Backoff: Sendable, Equatable, Codable {
    /// The wait after the first failure, in seconds, at most 30 days.
    public var base: Double
    /// The multiplier for each further failure.
    public var factor: Double
    /// The longest wait, in seconds, at most 30 days.
    public var ceiling: Double
    /// The random share of the wait, 0 to 1.
    public var jitter: Double

    /// Creates a backoff; by default 15 s, 30 s, 60 s … up to an hour, each shortened by a random
    /// share of up to a quarter.
    public init(
        base: Double = 15, factor: Double = 2, ceiling: Double = 3600, jitter: Double = 0.25
    ) {
        self.base = base
        self.factor = factor
        self.ceiling = ceiling
        self.jitter = jitter
    }

    /// Returns the wait before the next attempt.
    ///
    /// - Parameters:
    ///   - attempt: the number of failed attempts, from 1.
    ///   - chance: a random number from 0 to 1.
    public func delay(after attempt: Int, chance: Double) -> Duration {
        // A job's row may have any numbers.
        let ceiling = Self.bounded(ceiling, to: Self.longest)
        var seconds = min(Self.bounded(base, to: Self.longest), ceiling)
        for _ in 1..<max(attempt, 1) where seconds > 0 && seconds < ceiling {
            seconds = min(seconds * Self.bounded(factor, to: Self.longest), ceiling)
        }
        let share = 1 - Self.bounded(jitter, to: 1) * Self.bounded(chance, to: 1)
        return .microseconds(Int64(seconds * share * 1_000_000))
    }

    /// Thirty days, in seconds.
    private static let longest = 2_592_000.0

    private static func bounded(_ value: Double, to limit: Double) -> Double {
        value.isNaN ? 0 : min(max(value, 0), limit)
    }
}
