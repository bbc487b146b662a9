/// The lanes that have jobs.
extension Statements {
    /// The rows of `errand.lanes`, one for each lane and priority, with the row itself as `place`:
    /// `errand.lane_jobs()` takes it.
    ///
    /// $1 is a queue, or null for all queues.
    package static let lane = """
        lane AS MATERIALIZED (
            SELECT l.*, l AS place FROM errand.lanes l WHERE $1::text IS NULL OR l.queue = $1
        )
        """

    /// The lanes of all queues.
    package static let allLanes = """
        lane AS MATERIALIZED (SELECT l.*, l AS place FROM errand.lanes l)
        """
}
