import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The arguments, errors and records that the survey commands share.
enum SurveyFormatting {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The survey's id")
    static let invitation = Argument.required(
        ValueFormat.integer("INVITATION", in: 1...Int.max),
        help: "The invitation's id; 'errand survey invitations' lists them")

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no survey \(id)",
            hint: "'errand survey ls' lists the surveys")
    }

    static func unknown(invitation id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no invitation \(id)",
            hint: "'errand survey invitations' lists the invitations")
    }

    /// Runs `body` and turns a refusal by the schema into a command failure.
    static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as PostgresError {
            guard let refusal = SurveyError(error) else { throw error }
            switch refusal {
            case .notFound(let words):
                throw CommandFailure(exit: .notFound, message: words)
            case .conflict(let words): throw CommandFailure(exit: .conflict, message: words)
            case .refused(let words, let hint):
                throw CommandFailure(exit: .refused, message: words, hint: hint)
            case .invalid(let words, let hint):
                throw CommandFailure(exit: .usage, message: words, hint: hint)
            case .notReady(let words, let hint):
                throw CommandFailure(exit: .failed, message: words, hint: hint)
            }
        }
    }

    static func state(_ state: InvitationState) -> Cell {
        let style: Style =
            switch state {
            case .open: .cyan
            case .completed: .green
            case .expired: .dim
            case .withdrawn: .yellow
            }
        return .marked(state.rawValue, style)
    }

    /// The record of a survey, with the field names that scripts rely on.
    static func record(_ survey: SurveyRecord) -> Record {
        Record([
            ("id", .id(Int(survey.id))), ("title", .text(survey.title)),
            (
                "state",
                survey.closedAt == nil ? .marked("open", .green) : .marked("closed", .dim)
            ),
            ("establishment", .id(Int(survey.establishmentID))),
            ("establishment_name", .text(survey.establishment)),
            ("version", .int(survey.version)), ("minutes", .int(survey.minutes)),
            ("expires_days", .int(survey.expiresDays)), ("paid", .int(Int(survey.paid))),
            ("cut", .int(Int(survey.cut))), ("currency", .text(survey.currency)),
            ("coupon_title", .optional(survey.couponTitle) { .text($0) }),
            ("coupon_days", .optional(survey.couponDays) { .int($0) }),
            ("for_receipts", .flag(survey.isForReceipts)), ("put_at", survey.putAt.cell),
            ("closed_at", .optional(survey.closedAt) { $0.cell }),
        ])
    }

    /// The record of a question.
    static func record(_ question: QuestionRecord) -> Record {
        Record([
            ("number", .int(question.number)), ("kind", .text(question.kind)),
            ("label", .text(question.label)), ("is_required", .flag(question.isRequired)),
            ("options", .list(question.options)),
        ])
    }

    /// The record of an invitation; never with answers.
    static func record(_ invitation: InvitationRecord) -> Record {
        Record([
            ("id", .id(Int(invitation.id))), ("survey", .id(Int(invitation.surveyID))),
            ("version", .int(invitation.version)), ("title", .text(invitation.title)),
            ("person", .optional(invitation.personID) { .id(Int($0)) }),
            ("establishment", .id(Int(invitation.establishmentID))),
            ("branch", .optional(invitation.branchID) { .id(Int($0)) }),
            ("source", .text(invitation.source)), ("state", state(invitation.state)),
            ("purchased_at", invitation.purchasedAt.cell),
            ("invited_at", invitation.invitedAt.cell), ("expires_at", invitation.expiresAt.cell),
            ("ended_at", .optional(invitation.endedAt) { $0.cell }),
        ])
    }
}

extension SurveyFormatting {
    /// Prints a survey with its questions.
    static func show(_ id: Int, _ session: Session, _ invocation: Invocation) async throws {
        guard let found = try await SurveyRows(session: session).survey(Int64(id), now: .now())
        else {
            throw unknown(id)
        }
        var record = record(found.survey)
        record.append("open", .int(found.open))
        record.append("completed", .int(found.completed))
        record.append("expired", .int(found.expired))
        record.append("questions", .records(found.questions.map(Self.record)))
        try invocation.output.show(record)
    }
}
