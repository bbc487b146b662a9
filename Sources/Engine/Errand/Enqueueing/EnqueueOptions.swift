public import FoundationEssentials
package import ErrandPostgres

/// What one enqueue asks for; what is nil comes from the kind (``JobOptions``).
public struct EnqueueOptions: Sendable {
    /// Another queue than the kind's.
    public var queue: String?
    /// Another priority than the kind's.
    public var priority: Priority?
    /// Another number of attempts than the kind's.
    public var maxAttempts: Int?
    /// Another wait after failures than the kind's.
    public var backoff: Backoff?
    /// Another time limit than the kind's.
    public var timeout: Duration?
    /// Another retention than the kind's.
    public var retention: Duration?
    /// When to start; a time in the past means now.
    public var at: Date?
    /// A job that has not started by then is dropped, never run late.
    public var notAfter: Date?
    /// At most one job of the kind with this key.
    public var unique: Unique?
    /// Words to find the job by.
    public var tags: [String]
    /// Who, or what, makes it; for the story of the job.
    package var origin: JobOrigin?

    /// All as the kind says, due now.
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

/// A key that at most one job of a kind may hold, for how long, and what a second one does.
public struct Unique: Sendable, Hashable {
    /// How long the key is held.
    public enum Scope: Sendable, Hashable {
        /// Until the job starts: a second one may wait while the first runs.
        case whileWaiting
        /// Until the job is finished.
        case whileUnfinished
        /// For a time from the enqueue on, whatever becomes of the job.
        case within(Duration)
    }

    /// What happens to a job whose key is held.
    public enum Duplicate: Sendable, Hashable {
        /// It is not enqueued; the id of the first comes back.
        case skip
        /// The waiting job gets its arguments.
        case replace
        /// The waiting job gets its arguments if the time in this field of them is later.
        case replaceIfNewer(by: String)
    }

    /// The key.
    public var key: String
    /// How long it is held.
    public var scope: Scope
    /// What a second job does.
    public var onDuplicate: Duplicate

    /// A key that is held while the job waits.
    public init(
        _ key: String, _ scope: Scope = .whileWaiting, onDuplicate: Duplicate = .skip
    ) {
        self.key = key
        self.scope = scope
        self.onDuplicate = onDuplicate
    }
}

/// What became of an enqueue.
public struct Enqueued: Sendable, Equatable {
    /// How a unique key was met.
    public enum Result: String, Sendable {
        /// A new job.
        case inserted
        /// A job holds the key; nothing was changed.
        case skipped
        /// A waiting job holds the key and has the new arguments.
        case replaced
    }

    /// The job: the new one, or the one that holds the key.
    public var id: Int64
    /// What was done.
    public var result: Result
    /// Nil for a job that was there before.
    var runAt: Instant?

    /// As it goes into the ready window at once: a new job that is due, because no time was asked
    /// for, or one that has passed.
    func staged(asked time: Instant?, priority: Int16) -> Staged? {
        guard let runAt, time.map({ $0 < runAt }) ?? true else { return nil }
        return Staged(id: id, priority: priority, runAt: runAt)
    }
}

/// All that jobs of one INSERT have in common.
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
