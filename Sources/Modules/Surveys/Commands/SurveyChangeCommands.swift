import Errand
import ErrandCommand
import ErrandLedger
import ErrandPostgres
import ErrandTerminal

/// `errand survey put|close|expire`.
enum SurveyChangeCommands {
    static let all = [put, close, expire]

    // MARK: put

    private static let establishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID",
        help: "The establishment whose survey it is; it cannot change"
    ).required()
    private static let title = Option<String?>.value(
        "title", .line("TEXT", upTo: 200), help: "Title, as people read it"
    ).required()
    private static let minutes = Option<Int?>.integer(
        "minutes", range: 1...60, help: "How many minutes it takes"
    ).required()
    private static let expiresDays = Option<Int>.integer(
        "expires-days", default: 14, range: 1...90,
        help: "How many days after the purchase it can be answered")
    private static let paid = Option<Int?>.integer(
        "paid", range: 1...Int.max, help: "What the establishment pays, in minor units"
    ).required()
    private static let cut = Option<Int?>.integer(
        "cut", range: 1...Int.max, help: "The person's share of it, in minor units"
    ).required()
    private static let currency = Option<Currency>.value(
        "currency",
        ValueFormat("CODE", expected: "a currency by its code, such as CAD") { Currency($0) },
        default: .cad, help: "The currency of both")
    private static let couponTitle = Option<String?>.value(
        "coupon-title", .line("TEXT", upTo: 200),
        help: "What the coupon of a completion is for (default: no coupon)")
    private static let couponDays = Option<Int>.integer(
        "coupon-days", default: 30, range: 1...365, help: "How many days the coupon is valid")
    private static let questions = Option<String?>.text(
        "questions", placeholder: "FILE",
        help: "File with the questions as a JSON array; - is standard input"
    ).required()
    private static let noReceipts = Option.flag(
        "no-receipts", help: "The establishment's receipts do not lead to it")
    private static let longest = 1 << 20

    private static let put = Command(
        "survey", "put", effect: .write, summary: "Add a survey, or change it",
        discussion: """
            A change makes a new version for new invitations. A closed survey is open again. \
            Putting the same content again changes nothing. A question is \
            {"kind","label","options","is_required"}; the kinds are rating (1 to 5), choice, \
            many, yes_no and text. Only choice and many have options.
            """,
        examples: [
            .init(
                """
                errand survey put 12 --establishment 7 --title 'Your visit' --minutes 3 \
                --paid 500 --cut 300 --questions questions.json
                """, "add survey 12")
        ],
        options: [
            establishment, title, minutes, expiresDays, paid, cut, currency, couponTitle,
            couponDays, questions, noReceipts, AuditOptions.reason,
        ],
        arguments: [SurveyFormatting.id]
    ) { invocation in
        let id = invocation[SurveyFormatting.id]
        let path = invocation[questions]
        var reader = try LineReader(path: path)
        guard let bytes = try reader.rest(upTo: longest) else {
            throw CommandFailure(exit: .usage, message: "\(path) is longer than 1 MiB")
        }
        let survey = SurveyChanges.Survey(
            id: Int64(id), establishmentID: Int64(invocation[establishment]),
            title: invocation[title], minutes: invocation[minutes],
            expiresDays: invocation[expiresDays], paid: Int64(invocation[paid]),
            cut: Int64(invocation[cut]), currency: invocation[currency].code,
            couponTitle: invocation[couponTitle], couponDays: invocation[couponDays],
            questions: bytes, isForReceipts: !invocation[noReceipts])
        let session = try invocation.session()
        _ = try await SurveyFormatting.refusing {
            try await SurveyChanges(session: session, actor: invocation.operatorName)
                .put(survey, reason: invocation[AuditOptions.reason])
        }
        try await SurveyFormatting.show(id, session, invocation)
        return .done
    }

    // MARK: close

    private static let close = Command(
        "survey", "close", effect: .write, summary: "Close a survey, so that it invites nobody",
        discussion: "People who were invited can still answer it. 'errand survey put' opens it "
            + "again.",
        examples: [.init("errand survey close 12 --reason 'contract ended'", "asks first")],
        options: [AuditOptions.reason], arguments: [SurveyFormatting.id]
    ) { invocation in
        let id = invocation[SurveyFormatting.id]
        let session = try invocation.session()
        guard let found = try await SurveyRows(session: session).survey(Int64(id), now: .now())
        else {
            throw SurveyFormatting.unknown(id)
        }
        if found.survey.closedAt != nil {
            invocation.output.note("the survey was already closed")
        } else {
            try invocation.confirm("close survey \(id)?")
            _ = try await SurveyFormatting.refusing {
                try await SurveyChanges(session: session, actor: invocation.operatorName)
                    .close(Int64(id), reason: invocation[AuditOptions.reason])
            }
        }
        try await SurveyFormatting.show(id, session, invocation)
        return .done
    }

    // MARK: expire

    private static let expire = Command(
        "survey", "expire", effect: .write,
        summary: "End the invitations that have expired, as workers do every hour",
        discussion: "Late answers are refused whether or not this has run.",
        examples: [.init("errand survey expire", "for cron, if no worker runs it")]
    ) { invocation in
        let ended = try await ExpireInvitations.run(in: try invocation.pool(), now: .now())
        try invocation.output.show(Record([("ended", .int(ended))]))
        return .done
    }
}
