package import Delivery
import FoundationEssentials
package import JobQueue
import Postgres

/// Sends one notice by e-mail.
///
/// It carries the notice's id alone: the address is read when the mail is sent, and with it the
/// person's consent and whether the notice still is of use.
package struct EmailNotice: Job {
    package static let kind = "notification.email"
    package static let options = JobOptions(
        queue: "mail", maxAttempts: 12, backoff: Backoff(base: 30, ceiling: 3_600),
        timeout: .seconds(120))
    /// Today's arguments have no address in them; should one ever be added, it is not shown.
    package static let sensitive: Set<String> = ["address", "email"]

    package var noticeID: Int64

    package init(noticeID: Int64) { self.noticeID = noticeID }

    enum CodingKeys: String, CodingKey {
        case noticeID = "notice_id"
    }
}

/// How a notice of one kind reads; declared by the domain that owns the words.
package struct NoticeTemplate: Sendable {
    /// A notice in words.
    package struct Words: Sendable, Equatable {
        package var subject: String
        package var text: String
        package var html: String

        package init(subject: String, text: String, html: String) {
            self.subject = subject
            self.text = text
            self.html = html
        }
    }

    /// What the person must have agreed to, beyond having an account.
    package enum Consent: Sendable {
        case none
        /// Notices by place.
        case location
    }

    package let kind: String
    let consent: Consent
    let render: @Sendable (Data) throws -> Words

    /// The words for notices of a kind, made from their data, and the consent that they need.
    package init<Facts: Decodable & Sendable>(
        _ kind: String, consent: Consent, _ render: @escaping @Sendable (Facts) -> Words
    ) {
        self.kind = kind
        self.consent = consent
        self.render = { data in render(try JSONDecoder().decode(Facts.self, from: data)) }
    }

    /// Makes a text safe inside HTML.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
        return result
    }
}

/// The kinds of job by which people are told things.
package struct Mailing: Sendable {
    private let mailer: SMTPMailer
    private let from: Mailbox
    private let templates: [String: NoticeTemplate]

    /// Mail by `mailer`, in the name of `from`.
    package init(mailer: SMTPMailer, from: Mailbox, templates: [NoticeTemplate]) {
        self.mailer = mailer
        self.from = from
        self.templates = Dictionary(
            templates.map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Adds the kinds to those of a program.
    package func add(to kinds: inout JobKinds) {
        kinds.handleWithOutcome(EmailNotice.self) { job, context in
            try await send(job, context)
        }
    }

    private static let read = """
        SELECT n.public_id::text AS public_id, n.kind, n.data, n.status::text AS status,
            n.expires_at, p.email, p.email_refused_at IS NOT NULL AS is_refused,
            p.location_consent_at IS NOT NULL AS has_location_consent
        FROM notification.notices n JOIN notification.people p ON p.id = n.person_id
        WHERE n.id = $1
        """

    /// Writes the answer, and where $5 says so ends the cooldown that the notice began.
    private static let answer = """
        WITH answered AS (
            UPDATE notification.notices
            SET status = $2::text::notification.notice_status, reason = $3, answered_at = $4
            WHERE id = $1 AND status = 'pending'
            RETURNING person_id, subject, created_at
        )
        DELETE FROM notification.cooldowns c USING answered a
        WHERE $5 AND c.person_id = a.person_id AND c.subject = a.subject
          AND c.since = a.created_at
        """

    private static let refuseAddress = """
        UPDATE notification.people p SET email_refused_at = $2
        FROM notification.notices n
        WHERE n.id = $1 AND p.id = n.person_id AND p.email = $3
        """

    private func send(_ job: EmailNotice, _ context: JobContext) async throws -> Outcome {
        let found = try await context.database.withSession {
            try await $0.query(Self.read, [.int64(job.noticeID)])
        }
        guard let notice = found.first else { return .discard(reason: "the notice is gone") }
        guard try notice.text("status") == "pending" else { return .done }
        let now = Instant(date: context.now)
        guard try notice.timestamp("expires_at") > now else {
            return try await end(job, "expired", "it was of no more use", context)
        }
        let kind = try notice.text("kind")
        guard let template = templates[kind] else {
            throw JobError.invalid("no template for notices of kind \(kind)")
        }
        guard try template.consent == .none || notice.bool("has_location_consent") else {
            return try await end(job, "withdrawn", "the person no longer agrees to it", context)
        }
        guard let address = try notice.optionalText("email"), try !notice.bool("is_refused") else {
            return try await end(job, "failed", "there is no address that takes mail", context)
        }
        let domain = from.address.split(separator: "@").last ?? "localhost"
        let words = try template.render(Data(notice.json("data")))
        guard let mailbox = try? Mailbox(address) else {
            return try await end(
                job, "failed", "the address is malformed", badAddress: address, context)
        }
        let message = try EmailMessage(
            from: from, to: mailbox, subject: words.subject, text: words.text, html: words.html,
            messageID: "<\(try notice.text("public_id"))@\(domain)>", date: context.now)
        return try await deliver(message, job, context)
    }

    private func deliver(
        _ message: EmailMessage, _ job: EmailNotice, _ context: JobContext
    ) async throws -> Outcome {
        switch await mailer.send(message) {
        case .delivered(let reply):
            try await write(job, "sent", reply, context)
            return .done
        case .deferred(let reason, let delay), .unavailable(let reason, let delay):
            return .retry(after: delay, reason: reason)
        case .misconfigured(let reason):
            context.log.error("mail cannot be sent: \(reason)")
            return .retry(after: nil, reason: reason)
        case .addressGone(let reason, _):
            // For another address the mail is worth another try.
            try await write(
                job, "failed", reason, badAddress: message.to.address, mayBeToldNow: true, context)
            return .dead(reason: reason)
        case .rejected(let reason):
            try await write(job, "failed", reason, context)
            return .dead(reason: reason)
        }
    }

    /// Ends the job of a notice that is not sent, and need not be looked at by anybody.
    private func end(
        _ job: EmailNotice, _ status: String, _ reason: String, badAddress: String? = nil,
        _ context: JobContext
    ) async throws -> Outcome {
        try await write(
            job, status, reason, badAddress: badAddress, mayBeToldNow: true, context)
        return .discard(reason: "\(status): \(reason)")
    }

    /// Writes what became of the notice; when it was sent, together with the end of its job.
    ///
    /// - Parameters:
    ///   - badAddress: takes no mail; refused for the person, unless they have another by now.
    ///   - mayBeToldNow: another notice of the same subject need not wait.
    private func write(
        _ job: EmailNotice, _ status: String, _ reason: String, badAddress: String? = nil,
        mayBeToldNow: Bool = false, _ context: JobContext
    ) async throws {
        let now = Parameter.timestamp(Instant(date: context.now))
        try await context.database.transaction { transaction in
            try await transaction.query(
                Self.answer,
                [.int64(job.noticeID), .text(status), .text(reason), now, .bool(mayBeToldNow)])
            if let badAddress {
                try await transaction.query(
                    Self.refuseAddress, [.int64(job.noticeID), now, .text(badAddress)])
            }
            if status == "sent" { try await context.complete(in: transaction) }
        }
    }
}
