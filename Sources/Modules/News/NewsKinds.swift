package import Errand
package import ErrandNotification

/// The jobs of terms and news.
package enum NewsKinds {
    /// Adds the kinds to those of a program.
    ///
    /// - Parameter catalogue: the notices, with their words.
    package static func add(to kinds: inout JobKinds, notices catalogue: NoticeCatalogue) {
        kinds.handleWithOutcome(SendNews.self) { job, context in
            try await SendNews.run(job, context, by: catalogue)
        }
    }
}
