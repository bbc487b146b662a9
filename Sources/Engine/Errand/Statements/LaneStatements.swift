/// The lanes that have jobs.
extension Statements {
    /// The rows of `errand.lanes`: a lane and priority each, with the row itself as `place`, for the
    /// functions that read its jobs.
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
