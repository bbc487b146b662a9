package import ErrandCrypto
package import Errand
import ErrandKeys
package import ErrandNotification
package import ErrandSealing

/// The jobs of the votes.
///
/// Their arguments hold only ids of votes: people's choices never leave PostgreSQL.
package enum VoteKinds {
    /// The sealed columns of the tables.
    package static let sealed = [
        SealedColumn(
            "votes.keys", "sealed", key: [.init("id", "bigint")],
            context: VoteSecret.contextInSQL)
    ]

    /// Registers the kinds and their schedules.
    ///
    /// - Parameters:
    ///   - catalogue: the notices, with their templates.
    ///   - keys: seal the keys of votes; without them, other workers must create these.
    package static func add(
        to kinds: inout JobKinds, notices catalogue: NoticeCatalogue, sealing keys: SealingKeys?
    ) {
        kinds.handleBatch(CloseVote.self, upTo: CloseVote.batch) { try await CloseVote.run($0) }
        kinds.handle(SweepVotes.self) { _, context in try await SweepVotes.run(context) }
        kinds.handle(CountVote.self) { job, context in try await CountVote.run(job, context) }
        kinds.handle(PrepareNews.self) { job, context in
            try await PrepareNews.run(job, context, by: catalogue)
        }
        kinds.handleWithOutcome(PublishVote.self) { job, context in
            try await PublishVote.run(job, context, by: catalogue)
        }
        kinds.handle(ReviewVote.self) { job, context in
            try await ReviewVote.run(job, context, by: catalogue)
        }
        do {
            // Without keys there are no votes, and no worker would run the scheduled jobs.
            if let keys {
                kinds.schedule(try SweepVotes.schedule())
                try addKeys(to: &kinds, sealing: keys)
            }
        } catch { preconditionFailure("\(error)") }
    }

    private static func addKeys(to kinds: inout JobKinds, sealing keys: SealingKeys) throws {
        kinds.handle(PrepareKeys.self) { _, context in
            let result = try await KeyPool(sealing: keys, log: context.log)
                .run(in: context.database)
            guard result.opened > 0 else { return }
            context.log.with("keys", result.opened).warning(
                "reopened keys of votes that the database lost in a crash")
        }
        kinds.schedule(try PrepareKeys.schedule())
    }
}
