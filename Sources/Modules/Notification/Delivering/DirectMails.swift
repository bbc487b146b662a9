import ErrandDelivery
import FoundationEssentials
package import Errand
import ErrandPostgres

/// Mails a notice to the address of somebody who has no account yet.
///
/// Its arguments hold only the id; the address and the secret facts are read when it runs.
package struct DirectMail: Job {
    package static let kind = "notification.direct_mail"
    package static let options = JobOptions(
        queue: Provider.mail, priority: .critical, maxAttempts: 12,
        backoff: Backoff(base: 30, ceiling: 3_600), timeout: .seconds(120))
    /// The arguments contain no address; this hides one if it is ever added.
    package static let sensitive: Set<String> = ["address", "email"]

    package var mailID: Int64

    package init(mailID: Int64) { self.mailID = mailID }

    enum CodingKeys: String, CodingKey {
        case mailID = "mail_id"
    }
}

/// Handles the jobs that mail to people without an account.
///
/// A crash between the server's answer and its record sends a mail twice, with the same Message-ID.
package struct DirectMails: Sendable {
    private let catalogue: NoticeCatalogue
    private let channel: (any Channel)?

    /// - Parameter channel: sends mail; nil if it is not set up here: no job is handled.
    package init(_ catalogue: NoticeCatalogue, by channel: (any Channel)?) {
        self.catalogue = catalogue
        self.channel = channel
    }

    /// Registers the kind, if mail is set up.
    package func add(to kinds: inout JobKinds) {
        guard let channel else { return }
        kinds.handleWithOutcome(DirectMail.self) { job, context in
            try await handle(job.mailID, by: channel, context)
        }
    }

    /// The result of an attempt.
    private struct Result {
        /// A value of `notification.delivery_status`.
        var status: String
        var reply: String
        var attempts: Int16 = 0
        var outcome: Outcome

        init(_ status: String, _ reply: String, _ outcome: Outcome) {
            self.status = status
            self.reply = reply
            self.outcome = outcome
        }
    }

    private static let read = """
        SELECT m.public_id::text AS public_id, m.kind, m.address, m.locale, m.data,
            m.created_at, m.expires_at, s.facts AS secrets,
            CASE WHEN s.facts IS NOT NULL THEN m.data || s.facts END AS all_facts
        FROM notification.direct_mails m
        LEFT JOIN notification.direct_secrets s ON s.mail_id = m.id
        WHERE m.id = $1 AND m.status = 'pending'
        """

    /// A mail that was withdrawn while the server accepted it has no more facts, and stays so.
    private static let write = """
        UPDATE notification.direct_mails
        SET status = $2::text::notification.delivery_status, reply = $3,
            attempts = attempts + $4, answered_at = CASE WHEN $2 <> 'pending' THEN $5 END
        WHERE id = $1 AND status = 'pending'
        """

    private func handle(
        _ id: Int64, by channel: any Channel, _ context: JobContext
    ) async throws -> Outcome {
        let found = try await context.database.withSession {
            try await $0.query(Self.read, [.int64(id)])
        }
        guard let row = found.first else {
            // A kind of reason that is not looked at again, as in CloseUndelivered.
            return .discard(reason: "withdrawn: the mail has ended")
        }
        let result = try await result(of: row, by: channel, context)
        _ = try await context.database.withSession {
            try await $0.query(
                Self.write,
                [
                    .int64(id), .text(result.status), .text(result.reply),
                    .int16(result.attempts), .timestamp(Instant(date: context.now)),
                ])
        }
        return result.outcome
    }

    private func result(
        of row: Row, by channel: any Channel, _ context: JobContext
    ) async throws -> Result {
        let name = try row.text("kind")
        let expiresAt = try row.timestamp("expires_at")
        guard expiresAt > Instant(date: context.now) else {
            let why = "the mail has expired"
            return Result("expired", why, .discard(reason: "expired: \(why)"))
        }
        guard let kind = catalogue.kinds[name] else {
            // Another worker's program may have it.
            let why = "notice kind \(name) is not declared here"
            return Result(Self.status(after: context), why, .retry(after: nil, reason: why))
        }
        let secrets = try row.optionalJSON("secrets")
        guard kind.secrets.isEmpty || secrets != nil else {
            return Result(
                "failed", NoticeSecrets.gone, .discard(reason: "failed: \(NoticeSecrets.gone)"))
        }
        let data = try row.json("data")
        let words: NoticeTemplates.Rendered
        do {
            words = try catalogue.wording.words(
                of: name, on: .email, data: try row.optionalJSON("all_facts") ?? data,
                locale: try row.text("locale"), zone: nil, unsubscribe: nil)
        } catch {
            let why = "cannot render the notice: \(error)"
            return Result("rejected", why, .dead(reason: why))
        }
        let publicID = try row.text("public_id")
        let verdict = await channel.send(
            OutboundMessage(
                address: .mail(try row.text("address")), id: publicID, noticeID: publicID,
                number: 0, kind: kind, subject: "", words: words, unsubscribe: nil, data: data,
                collapseID: "", decidedAt: try row.timestamp("created_at").date,
                expiresAt: expiresAt.date))
        return Self.result(of: NoticeSecrets.hidden(secrets, in: verdict), context)
    }

    /// Returns the status after an attempt that failed for a time: the last one ends the mail.
    private static func status(after context: JobContext) -> String {
        context.attempt >= context.maxAttempts ? "failed" : "pending"
    }

    private static func result(of verdict: DeliveryVerdict, _ context: JobContext) -> Result {
        func ended(_ status: String, _ reply: String, _ outcome: Outcome) -> Result {
            var result = Result(status, reply, outcome)
            result.attempts = 1
            return result
        }
        switch verdict {
        case .delivered(let reply): return ended("delivered", reply, .done)
        case .deferred(let reason, let delay), .addressBusy(let reason, let delay):
            return ended(status(after: context), reason, .retry(after: delay, reason: reason))
        case .unavailable(let reason, let delay):
            let wait = DeliveryAnswer.spread(delay ?? DeliveryAnswer.longPause)
            return Result("pending", reason, .snooze(wait))
        case .misconfigured(let reason):
            context.log.error("mail rejects all messages: \(reason)")
            return Result(
                "pending", reason, .snooze(DeliveryAnswer.spread(DeliveryAnswer.longPause)))
        case .addressGone(let reason, _):
            return ended("gone", reason, .discard(reason: "failed: \(reason)"))
        case .bounced(let reason), .rejected(let reason):
            return ended("rejected", reason, .dead(reason: reason))
        }
    }
}
