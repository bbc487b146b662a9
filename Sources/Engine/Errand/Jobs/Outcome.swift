/// The result that a handler returns for its job.
///
/// A handler that throws requests a retry.
///
/// ```swift
/// kinds.handleWithOutcome(ResizePhoto.self) { job, context in
///     guard let photo = try await load(job.photoID) else {
///         return .discard(reason: "the photo was deleted")
///     }
///     try await resize(photo, to: job.width)
///     return .done
/// }
/// ```
public enum Outcome: Sendable, Equatable {
    /// The work is done.
    case done
    /// The attempt failed; try again after the given wait, or after the job's own backoff.
    case retry(after: Duration?, reason: String)
    /// Not now: the job comes back later and the attempt does not count.
    case snooze(Duration)
    /// The work is no longer wanted; the job ends as cancelled, with the reason.
    case discard(reason: String)
    /// No attempt can succeed; the job goes to the dead letters at once.
    case dead(reason: String)
}

/// An error of the engine; its description states what happened and what to do.
public enum JobError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Another worker has the job: the writes of this attempt must not commit.
    case claimLost(job: Int64)
    /// The attempt took longer than its time limit.
    case timedOut(after: Duration)
    /// Arguments over the limit of 1 MiB.
    case argumentsTooLarge(kind: String, bytes: Int)
    /// The request is invalid.
    case invalid(String)

    /// The message for people.
    public var description: String {
        switch self {
        case .claimLost(let job):
            "job \(job) was taken from this worker (its lease ran out, or PostgreSQL lost the "
                + "claim in a crash); nothing of this attempt was written"
        case .timedOut(let limit):
            "the attempt took longer than its time limit of \(limit)"
        case .argumentsTooLarge(let kind, let bytes):
            "the arguments of a \(kind) job take \(bytes) bytes; the limit is "
                + "\(JobClient.argumentLimit) (1 MiB): store the data elsewhere and pass its id"
        case .invalid(let text):
            text
        }
    }
}
