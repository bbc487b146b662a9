public import FoundationEssentials
package import ErrandPostgres

/// The options of one job; nil takes the default of the kind (``JobOptions``).
///
/// ```swift
/// try await client.enqueue(
///     ResizePhoto(photoID: 17, width: 640),
///     EnqueueOptions(priority: .high, in: .seconds(60), unique: Unique("photo:17")))
/// ```
public struct EnqueueOptions: Sendable {
    /// The queue.
    public var queue: String?
    /// The priority.
    public var priority: Priority?
    /// The maximum number of attempts.
    public var maxAttempts: Int?
    /// The waits after failed attempts.
    public var backoff: Backoff?
    /// The time limit of one attempt.
    public var timeout: Duration?
    /// How long the finished job is kept.
    public var retention: Duration?
    /// The earliest start; nil or a time in the past means now.
    public var at: Date?
    /// The latest start: a job that has not started by then ends as cancelled.
    public var notAfter: Date?
    /// At most one job of the kind with this key.
    public var unique: Unique?
    /// Labels to filter listings by.
    public var tags: [String]
    /// The origin, for the job's history.
    package var origin: JobOrigin?

    /// Creates options; the defaults are those of the kind, due now.
    public init(
        queue: String? = nil, priority: Priority? = nil, maxAttempts: Int? = nil,
        backoff: Backoff? = nil, timeout: Duration? = nil, retention: Duration? = nil,
        at: Date? = nil, in delay: Duration? = nil, notAfter: Date? = nil,
        unique: Unique? = nil, tags: [String] = []
    ) {
        self.queue = queue
        self.priority = priority
        self.maxAttempts = maxAttempts
        self.backoff = backoff
        self.timeout = timeout
        self.retention = retention
        self.at = at ?? delay.map { Date(timeIntervalSinceNow: Double($0.milliseconds) / 1000) }
        self.notAfter = notAfter
        self.unique = unique
        self.tags = tags
    }
}

/// A unique key: at most one job of a kind holds it at a time.
public struct Unique: Sendable, Hashable {
    /// How long a job holds its key.
    public enum Scope: Sendable, Hashable {
        /// Until the job starts: a second one can wait while the first runs.
        case whileWaiting
        /// Until the job is finished.
        case whileUnfinished
        /// For a time after the enqueue, even if the job finishes earlier.
        case within(Duration)
    }

    /// The action for a second job with a key that is held.
    public enum Duplicate: Sendable, Hashable {
        /// Enqueue nothing and return the id of the first job.
        case skip
        /// Replace the arguments of the waiting job.
        case replace
        /// Replace the arguments of the waiting job if the time in this field is later.
        case replaceIfNewer(by: String)
    }

    /// The key.
    public var key: String
    /// How long the key is held.
    public var scope: Scope
    /// The action for a second job.
    public var onDuplicate: Duplicate

    /// Creates a key; by default it is held while the job waits, and a second job is not enqueued.
    public init(
        _ key: String, _ scope: Scope = .whileWaiting, onDuplicate: Duplicate = .skip
    ) {
        self.key = key
        self.scope = scope
        self.onDuplicate = onDuplicate
    }
}

/// The result of an enqueue.
public struct Enqueued: Sendable, Equatable {
    /// What the enqueue did.
    public enum Result: String, Sendable {
        /// A new job.
        case inserted
        /// Another job holds the unique key; nothing changed.
        case skipped
        /// A waiting job holds the unique key and got the new arguments.
        case replaced
    }

    /// The job: the new one, or the one that holds the key.
    public var id: Int64
    /// What the enqueue did.
    public var result: Result
    /// The due time; nil for a job that existed before.
    var runAt: Instant?

    /// Returns the job for the ready window if it is new and due; nil otherwise.
    ///
    /// - Parameter time: the requested start; nil means now.
    func staged(asked time: Instant?, priority: Int16) -> Staged? {
        guard let runAt, time.map({ $0 < runAt }) ?? true else { return nil }
        return Staged(id: id, priority: priority, runAt: runAt)
    }
}

/// The values that all jobs of one INSERT share.
package struct EnqueueShape: Sendable, Hashable {
    package var lane: Lane
    package var priority: Int16
    package var maxAttempts: Int16
    package var notAfter: Instant?
    package var tags: [String]
    package var overrides: [UInt8]?
    package var unique: Unique?

    package init(
        kind: String, version: Int, defaults: JobOptions, options: EnqueueOptions
    ) throws {
        let queue = options.queue ?? defaults.queue
        guard JobKinds.isName(queue, limit: 63) else {
            throw JobError.invalid(
                "queue \"\(queue)\": expected up to 63 of a-z, 0-9, dot, dash, underscore")
        }
        guard JobKinds.isName(kind, limit: 100) else {
            throw JobError.invalid(
                "kind \"\(kind)\": expected up to 100 of a-z, 0-9, dot, dash, underscore")
        }
        let attempts = options.maxAttempts ?? defaults.maxAttempts
        guard (1...32_767).contains(attempts) else {
            throw JobError.invalid("max attempts \(attempts): expected 1 to 32767")
        }
        lane = Lane(queue: queue, kind: kind, version: version)
        priority = (options.priority ?? defaults.priority).rawValue
        maxAttempts = Int16(attempts)
        notAfter = options.notAfter.map(Instant.init(date:))
        tags = options.tags
        unique = options.unique
        let asked = JobOverrides(
            timeoutMs: options.timeout?.milliseconds,
            retentionS: options.retention?.components.seconds, backoff: options.backoff,
            origin: options.origin)
        overrides = asked.isEmpty ? nil : Array(try JSONEncoder().encode(asked))
    }

    var parameters: [Parameter] {
        [
            .text(lane.queue), .text(lane.kind), .int16(Int16(lane.version)), .int16(priority),
            .int16(maxAttempts), notAfter.map(Parameter.timestamp) ?? .null,
            tags.isEmpty ? .null : .textArray(tags), overrides.map(Parameter.json) ?? .null,
        ]
    }
}
