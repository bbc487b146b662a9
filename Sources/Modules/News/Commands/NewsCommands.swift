import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand news …`: terms and news of the company.
enum NewsCommands {
    static let all = [draft, send, list, show, pause, resume, cancel]

    private static func changes(_ invocation: Invocation) throws -> SendingChanges {
        SendingChanges(session: try invocation.session(), actor: invocation.operatorName)
    }

    // MARK: draft, send

    private static let draft = Command(
        "news", "draft", effect: .write, summary: "Draft terms or news; sends nothing",
        examples: [
            .init(
                "errand news draft --kind company.terms --version 2026-12 --to all --headline "
                    + "'New terms' --summary 'They apply from 1 January.' --body @terms.txt",
                "for 'errand news send'")
        ],
        options: NewsDraftOptions.all + [AuditOptions.reason]
    ) { invocation in
        let draft = try NewsDraftOptions.draft(invocation)
        _ = try NewsFormatting.samples(draft, invocation)
        let id = try await NewsFormatting.refusing {
            try await changes(invocation).draft(draft, reason: invocation[AuditOptions.reason])
        }
        try await NewsFormatting.show(Int(id), invocation)
        return .done
    }

    private static let dryRun = Option.flag(
        "dry-run", help: "Show the number of people and the rendered notice, and send nothing")
    private static let optionalID = Argument<Int?>.optional(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The draft's id; none for a new sending")

    private static let send = Command(
        "news", "send", effect: .write, summary: "Send a draft, or a new text at once",
        discussion: """
            A job of the queue \(SendNews.options.queue) notifies the people who are known now, \
            1,000 at a time. Nobody is notified twice, also after a crash, and of each version of \
            the terms once. Refused if it was started before, or if the same text was sent to \
            the same people in the last 7 days. News wait for each person's own time and obey \
            preferences and the daily cap; terms wait for quiet hours only.
            """,
        examples: [
            .init("errand news send 3 --dry-run", "how many people, and what they read"),
            .init("errand news send 3", "asks first"),
            .init(
                "errand news send --kind company.news --to app:survey --headline 'Two cities more' "
                    + "--summary 'Halifax and Laval.' --body @news.txt --dry-run",
                "the same for a new text"),
        ],
        options: NewsDraftOptions.all + [dryRun, AuditOptions.reason], arguments: [optionalID]
    ) { invocation in
        let rows = SendingRows(session: try invocation.session())
        let id = invocation[optionalID]
        let draft = try await draft(id, rows, invocation)
        let count = try await NewsFormatting.refusing {
            try await rows.check(draft, sending: id.map(Int64.init), now: .now())
        }
        let samples = try NewsFormatting.samples(draft, invocation)
        if invocation[dryRun] {
            try invocation.output.show(
                Record([
                    ("kind", .text(draft.kind)), ("audience", .text(draft.audience)),
                    ("people", .int(count)), ("samples", .records(samples)),
                ]))
            return .done
        }
        let people = HumanFormat.count(count)
        try invocation.confirm("send '\(draft.headline)' to \(people) people?")
        let started = try await NewsFormatting.refusing {
            let (changes, reason) = (try changes(invocation), invocation[AuditOptions.reason])
            guard let id else {
                return Int(try await changes.draft(draft, starting: true, reason: reason))
            }
            try await changes.start(Int64(id), reason: reason)
            return id
        }
        try await NewsFormatting.show(started, invocation)
        invocation.output.note("progress: errand news show \(started) --watch 2")
        return .done
    }

    /// Returns the draft with the id, or that of the options.
    private static func draft(
        _ id: Int?, _ rows: SendingRows, _ invocation: Invocation
    ) async throws -> SendingDraft {
        guard let id else { return try NewsDraftOptions.draft(invocation) }
        guard !NewsDraftOptions.isGiven(invocation) else {
            throw CommandFailure(
                exit: .usage, message: "a draft has its texts: pass ID or the options, not both")
        }
        guard let found = try await rows.sending(Int64(id)) else {
            throw NewsFormatting.unknown(id)
        }
        guard found.state == .draft || invocation[dryRun] else {
            return try await NewsFormatting.refusing {
                throw SendingError.state(Int64(id), found.state.rawValue)
            }
        }
        return SendingDraft(
            kind: found.kind, audience: found.audience, headline: found.headline,
            summary: found.summary, body: found.body, version: found.version)
    }

    // MARK: ls, show

    private static let inState = Option<SendingState?>.value(
        "state", .choice(of: SendingState.self, "STATE"), help: "Only sendings in this state")

    private static let list = Command(
        "news", "ls", effect: .read, summary: "List sendings, newest first",
        examples: [.init("errand news ls --state running", "what is being sent")],
        options: [inState, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let limit = invocation[PageOptions.limit]
        let found = try await SendingRows(session: try invocation.session()).page(
            invocation[inState], behind: invocation[PageOptions.cursor].map(Int64.init),
            limit: limit)
        try invocation.output.list(
            found.map { NewsFormatting.record($0) },
            columns: [
                Column("id"), Column("kind"), Column("audience"),
                Column("headline", isFlexible: true), Column("state"), Column("notified"),
                Column("skipped"), Column("left"), Column("remaining"),
            ], empty: "no sendings match")
        PageOptions.printMore(invocation, count: found.count, last: found.last?.id)
        return .done
    }

    private static let show = Command(
        "news", "show", effect: .read, summary: "Show a sending and its progress",
        examples: [.init("errand news show 3 --watch 2", "until interrupted")],
        arguments: [NewsFormatting.id]
    ) { invocation in
        try await NewsFormatting.show(invocation[NewsFormatting.id], invocation)
        return .done
    }

    // MARK: pause, resume, cancel

    private static func change(
        _ action: SendingChanges.Action, _ invocation: Invocation
    ) async throws -> ExitCode {
        let id = invocation[NewsFormatting.id]
        try await NewsFormatting.refusing {
            try await changes(invocation).change(
                Int64(id), action, reason: invocation[AuditOptions.reason])
        }
        try await NewsFormatting.show(id, invocation)
        return .done
    }

    private static let pause = Command(
        "news", "pause", effect: .write, summary: "Pause a sending after its present chunk",
        examples: [.init("errand news pause 3", "'errand news resume 3' continues it")],
        options: [AuditOptions.reason], arguments: [NewsFormatting.id]
    ) { try await change(.pause, $0) }

    private static let resume = Command(
        "news", "resume", effect: .write,
        summary: "Continue a paused sending, or one whose job has failed",
        examples: [.init("errand news resume 3", "from where it stopped")],
        options: [AuditOptions.reason], arguments: [NewsFormatting.id]
    ) { try await change(.resume, $0) }

    private static let cancel = Command(
        "news", "cancel", effect: .write, summary: "Cancel a sending or a draft",
        discussion: """
            Who was notified stays notified, also those whose notice waits for their own time: \
            'errand notification cancel' withdraws single notices.
            """,
        examples: [.init("errand news cancel 3", "asks first")],
        options: [AuditOptions.reason], arguments: [NewsFormatting.id]
    ) { invocation in
        try invocation.confirm("cancel sending \(invocation[NewsFormatting.id])?")
        return try await change(.cancel, invocation)
    }
}
