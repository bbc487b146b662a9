import ErrandCrypto
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand vote …`: votes, results and receipts.
///
/// No command reveals a person's choice.
enum VoteCommands {
    static let all = [list, show, close, exceptions, resolve, publish, verify, erase]

    // MARK: ls

    private static let inState = Option<VoteState?>.value(
        "state", .choice(of: VoteState.self, "STATE"), help: "Only votes in this state")
    private static let initiator = Option<Int?>.integer(
        "initiator", range: 1...Int.max, placeholder: "PERSON",
        help: "Only votes opened by this person")

    private static let list = Command(
        "vote", "ls", effect: .read, summary: "List votes, newest first",
        discussion: "A vote in review waits until its initiator resolves equal names.",
        examples: [.init("errand vote ls --state review", "votes that wait for their initiators")],
        options: [inState, initiator, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        var filter = VoteFilter()
        filter.state = invocation[inState]
        filter.initiator = invocation[initiator].map(Int64.init)
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let votes = try await VoteRows(session: try invocation.session()).page(filter)
        try invocation.output.list(
            votes.map(VoteFormatting.record),
            columns: [
                Column("id"), Column("subject", isFlexible: true), Column("state"),
                Column("closes_at"), Column("participants"), Column("ballots"),
            ], empty: "no votes match")
        if votes.count == filter.limit, let last = votes.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    // MARK: show

    private static let show = Command(
        "vote", "show", effect: .read, summary: "Show a vote, and its result once published",
        discussion: "The number of ballots is hidden while the vote is open.",
        examples: [.init("errand vote show 12", "totals, participants and root")],
        arguments: [VoteFormatting.id]
    ) { invocation in
        try await VoteFormatting.show(
            invocation[VoteFormatting.id], try invocation.session(), invocation)
        return .done
    }

    // MARK: close

    private static let close = Command(
        "vote", "close", effect: .write, summary: "Close a vote before its deadline",
        discussion: """
            Ballots already cast count. Workers of the queue \(CountVote.options.queue) count \
            and publish the vote.
            """,
        examples: [.init("errand vote close 12 --reason 'all have left'", "after confirmation")],
        options: [VoteFormatting.note], arguments: [VoteFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[VoteFormatting.id], try invocation.session())
        let (vote, _) = try await VoteFormatting.vote(id, session)
        try invocation.confirm("permanently close vote \(id) (\(vote.subject))?")
        let isNew = try await VoteFormatting.refusing {
            try await VoteChanges(session: session, actor: invocation.operatorName).close(
                Int64(id), reason: invocation[VoteFormatting.note])
        }
        guard isNew else {
            throw CommandFailure(
                exit: .conflict, message: "vote \(id) is \(vote.state.rawValue)",
                hint: "see 'errand vote show \(id)'")
        }
        try await VoteFormatting.show(id, session, invocation)
        return .done
    }

    // MARK: exceptions

    private static let exceptions = Command(
        "vote", "exceptions", effect: .read,
        summary: "List the voters who entered the same name",
        discussion: "Shows the name and address that each entered. Their choices are secret.",
        examples: [.init("errand vote exceptions 12", "the entries that the initiator sees")],
        arguments: [VoteFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[VoteFormatting.id], try invocation.session())
        _ = try await VoteFormatting.vote(id, session)
        let entries = try await VoteRows(session: session).exceptions(of: Int64(id))
        try invocation.output.list(
            entries.map { entry in
                Record([
                    ("name_key", .text(entry.nameKey)), ("state", .text(entry.state)),
                    ("person", .id(Int(entry.person))),
                    ("name", .optional(entry.name) { .text($0) }),
                    ("address", .optional(entry.address) { .text($0) }),
                    ("is_rejected", .flag(entry.isRejected)),
                    ("actor", .optional(entry.actor) { .text($0) }),
                    ("reason", .optional(entry.reason) { .text($0) }),
                ])
            },
            columns: [
                Column("name_key"), Column("state"), Column("person"), Column("name"),
                Column("address", isFlexible: true), Column("is_rejected"),
            ], empty: "vote \(id) has no equal names")
        return .done
    }

    // MARK: resolve

    private static let name = Option<String?>.value(
        "name", .line("NAME", upTo: 100), help: "The name"
    ).required()
    private static let rejected = Option<[Int]>.list(
        "reject", .integer("PERSON", in: 1...Int.max),
        help: "Exclude the ballots of these people (default: all count)")

    private static let resolve = Command(
        "vote", "resolve", effect: .write,
        summary: "Resolve a name that several voters entered, on behalf of the initiator",
        discussion: "Once the last name is resolved, the vote is counted and published.",
        examples: [
            .init("errand vote resolve 12 --name 'Ann Lee'", "two people of one name"),
            .init("errand vote resolve 12 --name 'Ann Lee' --reject 31", "one who voted twice"),
        ],
        options: [name, rejected, VoteFormatting.note], arguments: [VoteFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[VoteFormatting.id], try invocation.session())
        let (people, who) = (invocation[rejected], invocation[name])
        try invocation.confirm(
            people.isEmpty
                ? "count all entries of \(who) in vote \(id)?"
                : "reject \(people.count) entries of \(who) in vote \(id)?")
        let remaining = try await VoteFormatting.refusing {
            try await VoteChanges(session: session, actor: invocation.operatorName).decide(
                Int64(id), name: who, rejected: people.map(Int64.init),
                reason: invocation[VoteFormatting.note])
        }
        try invocation.output.show(
            Record([("id", .id(id)), ("open_exceptions", .int(remaining))]))
        return .done
    }

    // MARK: publish

    private static let publish = Command(
        "vote", "publish", effect: .write,
        summary: "End the review of a vote, or enqueue its count or publication again",
        discussion: """
            Ballots with unresolved names count, and the result states that they are unresolved. \
            Workers of the queue \(PublishVote.options.queue) publish the vote.
            """,
        examples: [.init("errand vote publish 12 --reason 'no answer'", "after confirmation")],
        options: [VoteFormatting.note], arguments: [VoteFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[VoteFormatting.id], try invocation.session())
        let (vote, _) = try await VoteFormatting.vote(id, session)
        let changes = VoteChanges(session: session, actor: invocation.operatorName)
        let reason = invocation[VoteFormatting.note]
        var isUnderWay = false
        switch vote.state {
        case .review:
            try invocation.confirm(
                "publish vote \(id) with \(vote.openExceptions) unresolved names?")
            isUnderWay = try await VoteFormatting.refusing {
                try await changes.endReview(Int64(id), now: .now(), reason: reason)
            }
        case .closed, .counted:
            isUnderWay = try await VoteFormatting.refusing {
                try await changes.goOn(Int64(id), reason: reason)
            }
        case .open, .published, .cancelled: break
        }
        guard isUnderWay else {
            throw CommandFailure(
                exit: .conflict, message: "vote \(id) is \(vote.state.rawValue)",
                hint: "see 'errand vote show \(id)'")
        }
        try await VoteFormatting.show(id, session, invocation)
        return .done
    }

    // MARK: verify

    private static let receipt = Option<String?>.value(
        "receipt", .line("R", upTo: 500),
        help: "The receipt from the voter's app, or - to read it from standard input"
    ).required()

    private static let verify = Command(
        "vote", "verify", effect: .read,
        summary: "Prove that the ballot of a receipt was counted",
        discussion: """
            Computes the path from the ballot to the published root itself, without trusting the \
            database. A receipt reveals the choice: do not ask voters for theirs, and use - to \
            keep yours out of the process list. Exits with 2 for an invalid receipt, 3 if the \
            result is not published, and 5 if the result does not include the ballot.
            """,
        examples: [.init("errand vote verify --receipt v1.12.1.q6ur…", "position, path and root")],
        options: [receipt]
    ) { invocation in
        let text = try invocation.word(invocation[receipt], asking: "paste the receipt")
        guard let receipt = Receipt(text) else {
            throw CommandFailure(
                exit: .usage, message: "the receipt is invalid",
                hint: "expected v1.VOTE.CHOICE.NONCE, as returned when the ballot was cast")
        }
        let verdict = try await VoteRows(session: try invocation.session()).verify(text)
        guard verdict.reason != "not_published" else {
            throw CommandFailure(
                exit: .notFound, message: "the result of vote \(receipt.vote) is not published")
        }
        let path = verdict.path.compactMap { Hexadecimal.decode($0) }
        guard verdict.isIncluded, let index = verdict.index, let size = verdict.size,
            let root = verdict.root,
            receipt.isIncluded(at: index, of: size, path: path, root: root)
        else {
            throw CommandFailure(
                exit: .refused,
                message: "the result of vote \(receipt.vote) does not include that ballot",
                hint: "it was rejected for its name, or never cast in this form")
        }
        try invocation.output.show(
            Record([
                ("id", .id(Int(receipt.vote))), ("is_included", .flag(true)),
                ("position", .int(index)), ("ballots", .int(size)),
                ("path", .list(verdict.path)), ("root", .text(Hexadecimal.encode(root))),
            ]))
        return .done
    }

    // MARK: erase

    private static let person = Argument.required(
        ValueFormat.integer("PERSON", in: 1...Int.max), help: "The person's id")
    private static let onlyVote = Option<Int?>.integer(
        "vote", range: 1...Int.max, placeholder: "ID", help: "Only in this vote")

    private static let erase = Command(
        "vote", "erase", effect: .write,
        summary: "Erase a participant's name, address and id",
        discussion: """
            Keeps totals, ballots and root. A participant of an open vote who has not cast is \
            deleted. In other unpublished votes, the publication erases the id. To erase a person \
            from all modules, use 'errand person erase'.
            """,
        examples: [.init("errand vote erase 42 --reason 'requested'", "after confirmation")],
        options: [onlyVote, VoteFormatting.note], arguments: [person]
    ) { invocation in
        let (id, session) = (invocation[person], try invocation.session())
        try invocation.confirm("permanently erase person \(id) from votes?")
        let erased = try await VoteFormatting.refusing {
            try await VoteChanges(session: session, actor: invocation.operatorName).erase(
                Int64(id), vote: invocation[onlyVote].map(Int64.init),
                reason: invocation[VoteFormatting.note])
        }
        try invocation.output.show(Record([("person", .id(id)), ("votes", .int(erased))]))
        return .done
    }
}
