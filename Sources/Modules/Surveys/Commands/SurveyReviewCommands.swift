import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand survey review|answers`.
enum SurveyReviewCommands {
    static let all = [review, answers]

    // MARK: review

    private static let verdict = Option<SurveyChanges.Verdict?>.value(
        "verdict", .choice(of: SurveyChanges.Verdict.self, "VERDICT"),
        help: "good; bad: careless; fraud: bad, with proof, such as a copied text")
    private static let note = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500),
        help: "Reason, for operators and the audit log; required unless the verdict is good")
    private static let flagged = Option.flag("flagged", help: "Only answers with a flag")
    private static let ofEstablishment = Option<Int?>.integer(
        "establishment", range: 1...Int.max, placeholder: "ID",
        help: "Only answers for this establishment")
    private static let which = Argument.optional(
        ValueFormat.integer("INVITATION", in: 1...Int.max),
        help: "The invitation whose answers to judge (default: list what waits)")

    private static let review = Command(
        "survey", "review", effect: .write,
        summary: "List answers that wait for a review, or judge one",
        discussion: """
            Each night a sample of the answers goes to review, and all with a FLAG: hasty (under \
            a quarter of the stated minutes), equal_ratings, short_text or same_text (as in an \
            earlier answer). Without INVITATION the command lists them, those that have waited \
            longest first. A verdict counts for the person's quality as a shopper. Answers with a \
            bad verdict are in no report. The reward stays: 'errand ledger reverse' takes it back.
            """,
        examples: [
            .init("errand survey review --flagged", "what waits, and has a flag"),
            .init("errand survey review 88 --verdict good", "judge the answers of invitation 88"),
            .init(
                "errand survey review 88 --verdict fraud --reason 'same text as 12 others'",
                "with proof"),
        ],
        options: [
            verdict, note, flagged, ofEstablishment, PageOptions.limit, PageOptions.cursor,
        ], arguments: [which]
    ) { invocation in
        if let id = invocation[which] {
            try await judge(id, invocation)
        } else {
            try await listWaiting(invocation)
        }
        return .done
    }

    private static func listWaiting(_ invocation: Invocation) async throws {
        guard invocation[verdict] == nil, invocation[note] == nil else {
            throw CommandFailure(
                exit: .usage, message: "--verdict and --reason need INVITATION",
                hint: "'errand survey review' lists what waits")
        }
        let rows = SurveyRows(session: try invocation.session())
        let found = try await rows.waiting(
            flagged: invocation[flagged],
            establishment: invocation[ofEstablishment].map(Int64.init),
            behind: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            found.map(record),
            columns: [
                Column("invitation"), Column("person"), Column("survey"),
                Column("title", isFlexible: true), Column("completed_at"),
                Column("seconds_spent"), Column("minutes"), Column("flags"),
            ], empty: "no answers wait for a review")
        PageOptions.printMore(invocation, count: found.count, last: found.last?.invitationID)
    }

    private static func judge(_ id: Int, _ invocation: Invocation) async throws {
        guard let said = invocation[verdict] else {
            throw CommandFailure(
                exit: .usage, message: "INVITATION needs --verdict",
                hint: "'errand survey answers \(id)' shows the answers")
        }
        guard said == .good || invocation[note] != nil else {
            throw CommandFailure(
                exit: .usage, message: "--verdict \(said.rawValue) needs --reason",
                hint: "say what is wrong, and for fraud the proof: it is kept with the verdict")
        }
        let session = try invocation.session()
        if said != .good {
            try invocation.confirm("judge the answers of invitation \(id) as \(said.rawValue)?")
        }
        let isNew = try await SurveyFormatting.refusing {
            try await SurveyChanges(session: session, actor: invocation.operatorName)
                .review(Int64(id), said, note: invocation[note])
        }
        if !isNew { invocation.output.note("the same verdict was already recorded") }
        guard let found = try await SurveyRows(session: session).completion(Int64(id)) else {
            throw SurveyFormatting.unknown(invitation: id)
        }
        try invocation.output.show(record(found))
    }

    private static func record(_ completion: CompletionRecord) -> Record {
        let review = completion.review
        return Record([
            ("invitation", .id(Int(completion.invitationID))),
            ("survey", .id(Int(completion.surveyID))), ("version", .int(completion.version)),
            ("title", .text(completion.title)),
            ("person", .optional(completion.personID) { .id(Int($0)) }),
            ("establishment", .id(Int(completion.establishmentID))),
            ("branch", .optional(completion.branchID) { .id(Int($0)) }),
            ("completed_at", completion.completedAt.cell),
            ("seconds_spent", .int(completion.secondsSpent)),
            ("minutes", .int(completion.minutes)), ("state", .text(completion.state)),
            ("coupon", .optional(completion.couponID) { .id(Int($0)) }),
            ("origin", .optional(completion.origin) { .text($0) }),
            ("flags", .list(review?.flags ?? [])),
            ("sampled_at", .optional(review?.sampledAt) { $0.cell }),
            ("verdict", .optional(review?.verdict) { .text($0) }),
            ("reviewed_at", .optional(review?.reviewedAt) { $0.cell }),
            ("actor", .optional(review?.actor) { .text($0) }),
            ("reason", .optional(review?.note) { .text($0) }),
        ])
    }

    // MARK: answers

    private static let answers = Command(
        "survey", "answers", effect: .read, summary: "Show the answers of an invitation",
        discussion: "What the person wrote is hidden unless --reveal is given.",
        examples: [
            .init("errand survey answers 88", "the answers, without texts"),
            .init("errand survey answers 88 --reveal --reason 'review'", "with texts"),
        ],
        options: RevealOptions.all, arguments: [SurveyFormatting.invitation]
    ) { invocation in
        let id = invocation[SurveyFormatting.invitation]
        let rows = SurveyRows(session: try invocation.session())
        guard let found = try await rows.completion(Int64(id)) else {
            guard let invited = try await rows.invitation(Int64(id), now: .now()) else {
                throw SurveyFormatting.unknown(invitation: id)
            }
            throw CommandFailure(
                exit: .notFound,
                message: "invitation \(id) is \(invited.state.rawValue) and has no answers",
                hint: "'errand survey invitations --state completed' lists those with answers")
        }
        let withTexts = try await RevealOptions.isGranted(
            invocation, subject: "answers of invitation \(id)")
        let lines = try await rows.answers(of: Int64(id), withTexts: withTexts).map { answer in
            Record([
                ("number", .int(answer.number)), ("kind", .text(answer.kind)),
                ("label", .text(answer.label)),
                ("answer", .optional(answer.answer) { .text($0) }),
            ])
        }
        var record = record(found)
        record.append("answers", .records(lines))
        try invocation.output.show(record)
        return .done
    }
}
