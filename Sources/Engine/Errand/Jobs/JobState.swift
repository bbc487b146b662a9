/// Where a job is in its life.
///
/// ```
///            enqueue(in: 1 h)            enqueue
///                  │                        │
///             ┌────▼────┐   due      ┌──────▼────┐  claim   ┌─────────┐ done ┌───────────┐
///             │scheduled├───────────▶│ available ├─────────▶│ running ├─────▶│ completed │
///             └────▲────┘            └─────▲─────┘          └┬─┬─┬─┬──┘      └───────────┘
///                  │ snooze                │ handed back     │ │ │ │ discard, deadline,
///                  └───────────────────────┼─────────────────┘ │ │ │ cancel   ┌───────────┐
///                                 claim    │                   │ │ └─────────▶│ cancelled │
///                            ┌─────────────┴──┐ attempt failed │ │            └───────────┘
///                            │    retrying    │◀───────────────┘ │ last attempt failed
///                            └────────────────┘                  │            ┌───────────┐
///                                                                └───────────▶│   dead    │
///                                                                             └───────────┘
/// ```
/// A waiting job can be cancelled too; a finished or dead one can be retried by an operator.
public enum JobState: String, Sendable, Codable, CaseIterable {
    /// Not due yet.
    case scheduled
    /// Due, waiting for a worker.
    case available
    /// Claimed by a worker.
    case running
    /// Waiting after a failed attempt.
    case retrying
    /// Done.
    case completed
    /// Ended without being done: cancelled, discarded by its handler, or too late to start.
    case cancelled
    /// Given up; kept until someone acts on it.
    case dead
}
