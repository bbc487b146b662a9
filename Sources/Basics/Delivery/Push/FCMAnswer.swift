import FoundationEssentials
import ErrandHTTP

/// The answer of FCM to one request ("FCM HTTP v1 ErrorCode", "FCM error codes").
struct FCMAnswer {
    private let status: Int
    private let error: Fault?
    private let name: String?
    private let wait: Duration?
    private let asked: Date

    private struct Body: Decodable {
        let name: String?
        let error: Fault?
    }

    private struct Fault: Decodable {
        let status: String?
        let details: [Detail]?
    }

    private struct Detail: Decodable {
        struct FieldViolation: Decodable { let field: String? }
        struct Violation: Decodable {
            let subject: String?
            let description: String?
        }

        let type: String?
        let errorCode: String?
        let fieldViolations: [FieldViolation]?
        let violations: [Violation]?

        enum CodingKeys: String, CodingKey {
            case type = "@type"
            case errorCode, fieldViolations, violations
        }
    }

    /// - Parameters:
    ///   - asked: the time of the request.
    ///   - now: the time of the answer.
    init(_ response: HTTPResponse, asked: Date, now: Date) {
        self.asked = asked
        status = response.status
        wait = RetryAfter.wait(response.header("retry-after"), now: now)
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        error = body?.error
        name = body?.name
    }

    /// The verdict by the table of Google's codes, and by our choice where Google leaves it open.
    var attempt: Attempt {
        switch (status, code) {
        case (200..<300, _):
            .answered(.delivered(reply: ProviderReply.clean(name ?? "\(status)")))
        case (400, "INVALID_ARGUMENT"):
            .answered(blamesToken ? gone : .rejected(reason: words))
        case (404, "UNREGISTERED"):
            .answered(.addressGone(reason: words, since: asked))
        case (403, "SENDER_ID_MISMATCH"):
            .answered(gone)
        case (401, "THIRD_PARTY_AUTH_ERROR"):
            .answered(.misconfigured(reason: words))
        case (401, _):
            .again(with: .newToken, otherwise: .misconfigured(reason: words))
        case (403, _), (404, _), (300..<400, _):
            // A wrong project, permission or URL.
            .answered(.misconfigured(reason: words))
        case (429, _):
            .answered(overQuota)
        case (500..., _):
            .answered(.unavailable(reason: words, retryAfter: wait))
        default:
            .answered(.rejected(reason: words))
        }
    }

    private var code: String {
        details("FcmError").compactMap(\.errorCode).first ?? error?.status ?? ""
    }

    private func details(_ type: String) -> [Detail] {
        (error?.details ?? []).filter { $0.type?.hasSuffix(".\(type)") == true }
    }

    /// Whether the token is invalid, not the message: the answer names no field, or only the
    /// token's.
    private var blamesToken: Bool {
        let fields = details("BadRequest").flatMap { $0.fieldViolations ?? [] }
        guard details("BadRequest").isEmpty else {
            return !fields.isEmpty && fields.allSatisfy { $0.field == "message.token" }
        }
        return !details("FcmError").isEmpty
    }

    /// The token or the project is wrong: without a date, so that the loss detector applies.
    private var gone: DeliveryVerdict { .addressGone(reason: words, since: nil) }

    /// A device's quota delays only that device.
    ///
    /// Any other quota is the project's, for which Google requires a wait of at least a minute.
    private var overQuota: DeliveryVerdict {
        let minute = Duration.seconds(60)
        let subjects = details("QuotaFailure").flatMap { $0.violations ?? [] }
        let isDevice =
            !subjects.isEmpty
            && subjects.allSatisfy { violation in
                [violation.subject, violation.description]
                    .contains { $0?.lowercased().contains("device") == true }
            }
        if isDevice { return .deferred(reason: words, retryAfter: wait ?? minute) }
        let atLeast = subjects.isEmpty ? wait ?? minute : max(wait ?? minute, minute)
        return .unavailable(reason: words, retryAfter: atLeast)
    }

    private var words: String {
        let field = details("BadRequest").flatMap { $0.fieldViolations ?? [] }
            .compactMap(\.field).first.map { " (\($0))" }
        return "FCM: \(status) \(ProviderReply.clean(code + (field ?? "")))"
    }
}
