/// Passes the claimer's requests to start runners to the task group.
struct StartRequests: Sendable {
    let stream: AsyncStream<LocalQueue>
    private let continuation: AsyncStream<LocalQueue>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func add(_ queue: LocalQueue) { continuation.yield(queue) }
    func close() { continuation.finish() }
}
