import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand inquiry …`: what people ask, and the answers.
enum InquiryCommands {
    static let all = [list, show, answer, close]

    private static func changes(_ invocation: Invocation) throws -> ThreadChanges {
        ThreadChanges(session: try invocation.session(), actor: invocation.operatorName)
    }

    // MARK: ls, show

    private static let waiting = Option.flag(
        "waiting", help: "Only threads that wait for an answer, the longest first")
    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "PERSON", help: "Only of this person")
    private static let mission = Option<Int?>.integer(
        "mission", range: 1...Int.max, placeholder: "MISSION", help: "Only about this mission")

    private static let list = Command(
        "inquiry", "ls", effect: .read, summary: "List threads, newest first",
        discussion: """
            State unanswered: it was closed while the person waited for an answer. IS_LATE: \
            it waits for over 10 minutes, for a mission's thread, or 4 hours, for others. With \
            --waiting, --cursor continues after the WAITING_FROM of the last thread.
            """,
        examples: [.init("errand inquiry ls --waiting", "who waits the longest")],
        options: [waiting, person, mission, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        var filter = ThreadFilter()
        filter.isWaiting = invocation[waiting]
        filter.person = invocation[person].map(Int64.init)
        filter.mission = invocation[mission].map(Int64.init)
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let found = try await ThreadRows(session: try invocation.session()).page(
            filter, now: .now())
        try invocation.output.list(
            found.map { InquiryFormatting.record($0, messages: .int($0.messages)) },
            columns: [
                Column("id"), Column("person"), Column("mission"),
                Column("mission_title", isFlexible: true), Column("state"),
                Column("waiting_since"), Column("is_late"), Column("messages"),
            ],
            empty: invocation[waiting] ? "nobody waits for an answer" : "no threads match")
        PageOptions.printMore(
            invocation, count: found.count,
            last: filter.isWaiting ? found.last?.waitingFrom : found.last?.id)
        return .done
    }

    private static let show = Command(
        "inquiry", "show", effect: .read, summary: "Show a thread with its messages",
        examples: [.init("errand inquiry show 12", "the question and its answers")],
        arguments: [InquiryFormatting.id]
    ) { invocation in
        try await InquiryFormatting.show(invocation[InquiryFormatting.id], invocation)
        return .done
    }

    // MARK: answer, close

    private static let text = Option<String?>.text(
        "text", placeholder: "TEXT",
        help: "The answer, at most 4,000 characters, or @FILE (default: standard input)")

    private static let requestID = Option<String?>.value(
        "request-id", .line("TEXT", upTo: 100),
        help: "Idempotency key: the same answer and key are recorded once (default: your same text "
            + "is recorded once, until the person writes again)")

    private static let answer = Command(
        "inquiry", "answer", effect: .write, summary: "Answer a thread, and notify its person",
        discussion: """
            The notice does not contain the answer. It is urgent while the person is on the \
            mission of the thread. A closed thread is open again. The audit log has your name and \
            no text; the person does not see your name.
            """,
        examples: [
            .init("errand inquiry answer 12 --text 'Rewards are paid on Mondays.'", "a short one"),
            .init("errand inquiry answer 12 <answer.txt", "from standard input"),
        ],
        options: [text, requestID], arguments: [InquiryFormatting.id]
    ) { invocation in
        let id = invocation[InquiryFormatting.id]
        let bytes = try JobInputOptions.content(invocation[text] ?? "@-")
        let words = trimmed(String(decoding: bytes, as: UTF8.self))
        guard (1...4_000).contains(words.unicodeScalars.count) else {
            throw CommandFailure(
                exit: .usage, message: "the answer has \(words.unicodeScalars.count) characters",
                hint: "expected 1 to 4,000, by --text or on standard input")
        }
        _ = try await InquiryFormatting.refusing {
            try await changes(invocation).answer(
                Int64(id), words, request: invocation[requestID])
        }
        try await InquiryFormatting.show(id, invocation)
        return .done
    }

    /// Removes spaces and line breaks around a text.
    private static func trimmed(_ text: String) -> String {
        let rest = text.drop { $0.isWhitespace }
        let end = rest.lastIndex { !$0.isWhitespace }
        return end.map { String(rest[...$0]) } ?? ""
    }

    private static let close = Command(
        "inquiry", "close", effect: .write, summary: "Close a thread, answered or not",
        discussion: "The person can open another one. An answer opens it again.",
        examples: [.init("errand inquiry close 12", "asks first if the person waits")],
        options: [AuditOptions.reason], arguments: [InquiryFormatting.id]
    ) { invocation in
        let id = invocation[InquiryFormatting.id]
        let rows = ThreadRows(session: try invocation.session())
        guard let found = try await rows.thread(Int64(id), now: .now()) else {
            throw InquiryFormatting.unknown(id)
        }
        if found.thread.state == "waiting" {
            try invocation.confirm("close thread \(id), whose person waits for an answer?")
        }
        let isNew = try await InquiryFormatting.refusing {
            try await changes(invocation).close(
                Int64(id), reason: invocation[AuditOptions.reason])
        }
        if !isNew { invocation.output.note("the thread was already closed") }
        try await InquiryFormatting.show(id, invocation)
        return .done
    }
}
