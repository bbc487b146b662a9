import CErrandSystem

/// The heaps of malloc, of which every thread otherwise has its own.
package enum MallocArenas {
    /// Limits their number for this process; call it before other threads start.
    ///
    /// Work moves between the threads of a worker. With a heap for each, every heap grows to the
    /// largest amount that its thread ever held, and the sum creeps up for hours.
    package static func limit(to count: Int32) { mallopt(M_ARENA_MAX, count) }
}
