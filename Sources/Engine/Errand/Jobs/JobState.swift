/// The state of a job.
///
/// ```
///            enqueue(in: 1 h)            enqueue
///                  │                        │
///             ┌────▼────┐   due      ┌──────▼────┐  claim   ┌─────────┐ done ┌───────────┐
///             │scheduled├───────────▶│ available ├─────────▶│ running ├─────▶│ completed │
///             └────▲────┘            └─────▲─────┘          └┬─┬─┬─┬──┘      └───────────┘
///                  │ snooze                │ requeue         │ │ │ │ discard, deadline,
///                  └───────────────────────┼─────────────────┘ │ │ │ cancel   ┌───────────┐
///                                 claim    │                   │ │ └─────────▶│ cancelled │
///                            ┌─────────────┴──┐ attempt failed │ │            └───────────┘
///                            │    retrying    │◀───────────────┘ │ last attempt failed
///                            └────────────────┘                  │            ┌───────────┐
///                                                                └───────────▶│   dead    │
///                                                                             └───────────┘
/// ```
/// A waiting job can be cancelled too. An operator can retry a finished job or a dead letter.
public enum JobState: String, Sendable, Codable, CaseIterable {
    /// Not due yet.
    case scheduled
    /// Due, waiting for a worker.
    case available
    /// Claimed by a worker.
    case running
    /// Waiting after a failed attempt.
    case retrying
    /// Successfully done.
    case completed
    /// Cancelled, discarded by its handler, or too late to start.
    case cancelled
    /// A dead letter: kept until an operator redrives or discards it.
    case dead
}
