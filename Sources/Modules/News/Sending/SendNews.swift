import FoundationEssentials
package import Errand
import ErrandNotification

/// Notifies the people of a sending, chunk by chunk.
///
/// `news.start()` and `news.resume()` enqueue it. Each chunk is one transaction, so a worker that
/// is killed loses at most the chunk that has not committed. It runs for a minute and continues in
/// another attempt, which does not count: other jobs of the queue have their turn.
package struct SendNews: Job {
    package static let kind = "news.send"
    package static let options = JobOptions(
        queue: "news", priority: .low, maxAttempts: 50, backoff: Backoff(base: 2, ceiling: 60),
        timeout: .seconds(300), retention: .seconds(7 * 86_400))

    /// How long one attempt starts chunks.
    private static let turn = Duration.seconds(60)

    package var sendingID: Int64

    package init(sendingID: Int64) { self.sendingID = sendingID }

    enum CodingKeys: String, CodingKey {
        case sendingID = "sending_id"
    }

    static func run(
        _ job: SendNews, _ context: JobContext, by catalogue: NoticeCatalogue
    ) async throws -> Outcome {
        PeopleZones.shared.refresh()
        let planner = NoticePlanner(catalogue, context: context)
        let fanOut = FanOut(job.sendingID, database: context.database, planner: planner)
        let clock = ContinuousClock()
        let start = clock.now
        while clock.now - start < turn {
            try Task.checkCancellation()
            // As of now, not of the start of the attempt: quiet hours begin and end meanwhile.
            let now = context.now.addingTimeInterval((clock.now - start) / .seconds(1))
            let isLast = try await fanOut.chunk(now: now) { transaction in
                try await context.complete(in: transaction)
            }
            if isLast {
                context.log.with("sending", job.sendingID).info("the sending has ended or paused")
                return .done
            }
        }
        return .snooze(.zero)
    }
}
