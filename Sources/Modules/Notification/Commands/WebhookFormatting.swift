import ErrandDelivery
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// Formatting shared by the webhook commands.
enum WebhookFormatting {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The endpoint's id")

    static func endpoints(_ invocation: Invocation) throws -> WebhookEndpoints {
        WebhookEndpoints(session: try invocation.session())
    }

    static func author(_ invocation: Invocation) -> WebhookEndpoints.Author {
        .init(invocation.operatorName, reason: invocation[AuditOptions.reason])
    }

    static func one(_ invocation: Invocation) async throws -> WebhookEndpoint {
        guard let endpoint = try await endpoints(invocation).one(Int64(invocation[id])) else {
            throw unknown(invocation[id])
        }
        return endpoint
    }

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no endpoint \(id)",
            hint: "'errand webhook ls' lists the endpoints")
    }

    /// Shows an endpoint after a change to it.
    ///
    /// - Parameter unfit: the error text if the state of the endpoint does not allow the change.
    static func report(
        _ change: WebhookEndpoints.Change, _ invocation: Invocation, unfit: String, hint: String
    ) async throws -> ExitCode {
        switch change {
        case .unknown: throw unknown(invocation[id])
        case .unfit:
            throw CommandFailure(
                exit: .conflict, message: "endpoint \(invocation[id]) \(unfit)", hint: hint)
        case .done:
            try invocation.output.show(record(try await one(invocation)))
            return .done
        }
    }

    private static func state(_ endpoint: WebhookEndpoint) -> Cell {
        if endpoint.disabledAt != nil { return .marked("disabled", .red) }
        return endpoint.failingSince == nil
            ? .marked("enabled", .green) : .marked("failing", .yellow)
    }

    /// Returns an endpoint as a record; scripts rely on the field names.
    ///
    /// - Parameter isRevealed: whether the whole URL is shown.
    static func record(_ endpoint: WebhookEndpoint, isRevealed: Bool = false) -> Record {
        Record([
            ("id", .id(Int(endpoint.id))), ("owner", .text(endpoint.owner)),
            ("url", .text(isRevealed ? endpoint.url.revealed : endpoint.place)),
            ("events", .list(endpoint.events)), ("state", state(endpoint)),
            ("waiting", .int(endpoint.waiting)),
            ("secrets", .int(endpoint.hasTwoSecrets ? 2 : 1)),
            ("created_at", endpoint.createdAt.cell),
            ("failing_since", .optional(endpoint.failingSince) { $0.cell }),
            ("disabled_at", .optional(endpoint.disabledAt) { $0.cell }),
            ("disabled_reason", .optional(endpoint.disabledReason) { .text($0) }),
        ])
    }

    /// Returns a delivery of an event as a record.
    static func record(_ event: WebhookRecord) -> Record {
        Record([
            ("id", .id(Int(event.id))), ("endpoint", .id(Int(event.endpointID))),
            ("kind", .text(event.kind)), ("owner", .text(event.owner)),
            ("status", .marked(event.status, NotificationFormatting.style(event.status))),
            ("attempt", .int(event.attempts)),
            ("reply", .optional(event.reply) { .text($0) }),
            ("created_at", event.createdAt.cell),
            ("ended_at", .optional(event.answeredAt) { $0.cell }),
            ("expires_at", event.expiresAt.cell), ("dedupe_key", .text(event.dedupeKey)),
        ])
    }
}
