import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand survey ls|show|invitations`.
enum SurveyListCommands {
    static let all = [list, show, invitations]

    private static let ofEstablishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID",
        help: "Only of this establishment")

    // MARK: ls

    private enum State: String, CaseIterable, Sendable { case open, closed }
    private static let state = Option<State?>.value(
        "state", .choice(of: State.self, "STATE"), help: "Only surveys in this state")

    private static let list = Command(
        "survey", "ls", effect: .read, summary: "List surveys, highest id first",
        discussion: "PAID and CUT are minor units: what the establishment pays for a completion, "
            + "and the person's share of it.",
        examples: [
            .init("errand survey ls --establishment 7", "the surveys of one establishment"),
            .init("errand survey ls --state open -ojson", "open surveys, for programs"),
        ],
        options: [ofEstablishment, state, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        var filter = SurveyFilter()
        filter.establishmentID = invocation[ofEstablishment].map(Int64.init)
        filter.isClosed = invocation[state].map { $0 == .closed }
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let surveys = try await SurveyRows(session: try invocation.session()).page(filter)
        try invocation.output.list(
            surveys.map(SurveyFormatting.record),
            columns: [
                Column("id"), Column("establishment_name", title: "ESTABLISHMENT"),
                Column("title", isFlexible: true), Column("state"), Column("version"),
                Column("minutes"), Column("expires_days"), Column("paid"), Column("cut"),
                Column("currency"),
            ], empty: "no surveys match")
        PageOptions.printMore(invocation, count: surveys.count, last: surveys.last?.id)
        return .done
    }

    // MARK: show

    private static let show = Command(
        "survey", "show", effect: .read,
        summary: "Show a survey with its questions and the invitations of the last 30 days",
        discussion: "The questions are those of the current version. People who were invited "
            + "before a change answer the version of their invitation.",
        examples: [.init("errand survey show 12", "the survey and its questions")],
        arguments: [SurveyFormatting.id]
    ) { invocation in
        try await SurveyFormatting.show(
            invocation[SurveyFormatting.id], try invocation.session(), invocation)
        return .done
    }

    // MARK: invitations

    private static let ofPerson = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Only this person's invitations")
    private static let ofSurvey = Option<Int?>.integer(
        "survey", range: 1...Int.max, placeholder: "ID", help: "Only invitations to this survey")
    private static let invitationState = Option<InvitationState?>.value(
        "state", .choice(of: InvitationState.self, "STATE"),
        help: "Only invitations in this state")

    private static let invitations = Command(
        "survey", "invitations", effect: .read, summary: "List invitations, newest first",
        discussion: """
            An invitation is expired once its end has passed, whatever the hourly sweep did. \
            SOURCE is receipt, or the reason for which the app invited the person.
            """,
        examples: [
            .init("errand survey invitations --person 42", "the invitations of one person"),
            .init("errand survey invitations --survey 12 --state open", "who may still answer"),
        ],
        options: [
            ofPerson, ofSurvey, ofEstablishment, invitationState, PageOptions.limit,
            PageOptions.cursor,
        ]
    ) { invocation in
        var filter = InvitationFilter()
        filter.personID = invocation[ofPerson].map(Int64.init)
        filter.surveyID = invocation[ofSurvey].map(Int64.init)
        filter.establishmentID = invocation[ofEstablishment].map(Int64.init)
        filter.state = invocation[invitationState]
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let found = try await SurveyRows(session: try invocation.session()).invitations(
            filter, now: .now())
        try invocation.output.list(
            found.map(SurveyFormatting.record),
            columns: [
                Column("id"), Column("person"), Column("survey"),
                Column("title", isFlexible: true), Column("branch"), Column("source"),
                Column("state"), Column("expires_at"),
            ], empty: "no invitations match")
        PageOptions.printMore(invocation, count: found.count, last: found.last?.id)
        return .done
    }
}
