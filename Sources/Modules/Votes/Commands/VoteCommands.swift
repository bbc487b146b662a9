import ErrandCrypto
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand vote …`: votes, what becomes of them, and receipts.
///
/// Nothing tells who chose what.
enum VoteCommands {
    static let all = [list, show, close, exceptions, resolve, publish, verify, erase]

    // MARK: ls

    private static let inState = Option<VoteState?>.value(
        "state", .choice(of: VoteState.self, "STATE"), help: "Only votes in this state")
    private static let initiator = Option<Int?>.integer(
        "initiator", range: 1...Int.max, placeholder: "PERSON", help: "Only those opened by them")

    private static let list = Command(
        "vote", "ls", effect: .looks, summary: "List votes, the newest first",
        discussion: "A vote in review waits for its initiator to look at equal names.",
        examples: [.init("errand vote ls --state review", "whose initiators are waited for")],
        options: [inState, initiator, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        var filter = VoteFilter()
        filter.state = invocation[inState]
        filter.initiator = invocation[initiator].map(Int64.init)
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        let votes = try await VoteRows(session: try invocation.session()).page(filter)
        try invocation.output.list(
            votes.map(VoteWords.record),
            columns: [
                Column("id"), Column("subject", isFlexible: true), Column("state"),
                Column("closes_at"), Column("participants"), Column("ballots"),
            ], empty: "no vote passes these filters")
        if votes.count == filter.limit, let last = votes.last {
            invocation.output.note(
                "more: " + invocation.line(behind: PageOptions.cursor, String(last.id)))
        }
        return .done
    }

    // MARK: show

    private static let show = Command(
        "vote", "show", effect: .looks, summary: "Show a vote, and its result once it is out",
        discussion: "How many have cast is told by nobody while it is open.",
        examples: [.init("errand vote show 12", "totals, participants and root")],
        arguments: [VoteWords.id]
    ) { invocation in
        try await VoteWords.show(invocation[VoteWords.id], try invocation.session(), invocation)
        return .done
    }

    // MARK: close

    private static let close = Command(
        "vote", "close", effect: .changes, summary: "Close a vote before its time",
        discussion: """
            What was cast counts. Workers of the queue \(CountVote.options.queue) count and \
            publish it.
            """,
        examples: [.init("errand vote close 12 --reason 'all have left'", "asks first")],
        options: [VoteWords.note], arguments: [VoteWords.id]
    ) { invocation in
        let (id, session) = (invocation[VoteWords.id], try invocation.session())
        let (vote, _) = try await VoteWords.vote(id, session)
        try invocation.confirm("close vote \(id) (\(vote.subject)), which cannot be undone?")
        let isNew = try await VoteWords.refusing {
            try await VoteChanges(session: session, actor: invocation.operatorName).close(
                Int64(id), reason: invocation[VoteWords.note])
        }
        guard isNew else {
            throw CommandFailure(
                exit: .conflict, message: "vote \(id) is \(vote.state.rawValue)",
                hint: "'errand vote show \(id)' tells more")
        }
        try await VoteWords.show(id, session, invocation)
        return .done
    }

    // MARK: exceptions

    private static let exceptions = Command(
        "vote", "exceptions", effect: .looks,
        summary: "List the entries of names that several voters have",
        discussion: "The name and address that each gave. What they chose is not known to anybody.",
        examples: [.init("errand vote exceptions 12", "what the initiator sees")],
        arguments: [VoteWords.id]
    ) { invocation in
        let (id, session) = (invocation[VoteWords.id], try invocation.session())
        _ = try await VoteWords.vote(id, session)
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
            ], empty: "no name of vote \(id) was given twice")
        return .done
    }

    // MARK: resolve

    private static let name = Option<String?>.value(
        "name", .line("NAME", upTo: 100), help: "Which name"
    ).required()
    private static let rejected = Option<[Int]>.list(
        "reject", .integer("PERSON", in: 1...Int.max),
        help: "These people's ballots leave the count (default: all of them are good)")

    private static let resolve = Command(
        "vote", "resolve", effect: .changes,
        summary: "Decide about a name that several voters have, for the initiator",
        discussion: "With the last name decided the vote is counted and published.",
        examples: [
            .init("errand vote resolve 12 --name 'Ann Lee'", "two people of one name"),
            .init("errand vote resolve 12 --name 'Ann Lee' --reject 31", "one who voted twice"),
        ],
        options: [name, rejected, VoteWords.note], arguments: [VoteWords.id]
    ) { invocation in
        let (id, session) = (invocation[VoteWords.id], try invocation.session())
        let (people, who) = (invocation[rejected], invocation[name])
        try invocation.confirm(
            people.isEmpty
                ? "let all entries of \(who) in vote \(id) count?"
                : "reject \(people.count) of the entries of \(who) in vote \(id)?")
        let remaining = try await VoteWords.refusing {
            try await VoteChanges(session: session, actor: invocation.operatorName).decide(
                Int64(id), name: who, rejected: people.map(Int64.init),
                reason: invocation[VoteWords.note])
        }
        try invocation.output.show(
            Record([("id", .id(id)), ("open_exceptions", .int(remaining))]))
        return .done
    }

    // MARK: publish

    private static let publish = Command(
        "vote", "publish", effect: .changes,
        summary: "Let a vote in review be published, or ask again for a publication",
        discussion: """
            Names that are not decided count, and the result says that they were left open. A vote \
            that was counted is published by workers of the queue \(PublishVote.options.queue).
            """,
        examples: [.init("errand vote publish 12 --reason 'nobody answers'", "asks first")],
        options: [VoteWords.note], arguments: [VoteWords.id]
    ) { invocation in
        let (id, session) = (invocation[VoteWords.id], try invocation.session())
        let (vote, _) = try await VoteWords.vote(id, session)
        let changes = VoteChanges(session: session, actor: invocation.operatorName)
        let reason = invocation[VoteWords.note]
        var isUnderWay = false
        switch vote.state {
        case .review:
            try invocation.confirm(
                "publish vote \(id) with \(vote.openExceptions) names undecided?")
            isUnderWay = try await VoteWords.refusing {
                try await changes.endReview(Int64(id), now: .now(), reason: reason)
            }
        case .closed, .counted:
            isUnderWay = try await VoteWords.refusing {
                try await changes.goOn(Int64(id), reason: reason)
            }
        case .open, .published, .cancelled: break
        }
        guard isUnderWay else {
            throw CommandFailure(
                exit: .conflict, message: "vote \(id) is \(vote.state.rawValue)",
                hint: "'errand vote show \(id)' tells more")
        }
        try await VoteWords.show(id, session, invocation)
        return .done
    }

    // MARK: verify

    private static let receipt = Option<String?>.value(
        "receipt", .line("R", upTo: 500),
        help: "As the voter's app has kept it, or - to read it from standard input"
    ).required()

    private static let verify = Command(
        "vote", "verify", effect: .looks,
        summary: "Prove that the ballot of a receipt was counted",
        discussion: """
            The path from the ballot to the root that was published is computed here, too, and not \
            by the database alone. A receipt says what was chosen: do not ask anybody for theirs, \
            and leave your own out of the list of processes by -. \
            Exits 2 for what is no receipt, 3 when its result is not out, 5 when the result does \
            not have it.
            """,
        examples: [.init("errand vote verify --receipt v1.12.1.q6ur…", "place, path and root")],
        options: [receipt]
    ) { invocation in
        let text = try invocation.word(invocation[receipt], asking: "paste the receipt")
        guard let receipt = Receipt(text) else {
            throw CommandFailure(
                exit: .usage, message: "that is no receipt",
                hint: "v1.VOTE.CHOICE.NONCE, as it was given when the ballot was cast")
        }
        let verdict = try await VoteRows(session: try invocation.session()).verify(text)
        guard verdict.reason != "not_published" else {
            throw CommandFailure(
                exit: .notFound, message: "the result of vote \(receipt.vote) is not out")
        }
        let path = verdict.path.compactMap { Hexadecimal.decode($0) }
        guard verdict.isIncluded, let index = verdict.index, let size = verdict.size,
            let root = verdict.root,
            receipt.isIncluded(at: index, of: size, path: path, root: root)
        else {
            throw CommandFailure(
                exit: .refused,
                message: "the result of vote \(receipt.vote) does not have that ballot",
                hint: "it was rejected for its name, or never cast so")
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
        "vote", range: 1...Int.max, placeholder: "ID", help: "Only in this one")

    private static let erase = Command(
        "vote", "erase", effect: .changes,
        summary: "Forget who a participant was: name, address and id",
        discussion: """
            Totals, ballots and root stay. Of votes whose result is not out it is done with the \
            publication.
            """,
        examples: [.init("errand vote erase 42 --reason 'asked for it'", "asks first")],
        options: [onlyVote, VoteWords.note], arguments: [person]
    ) { invocation in
        let (id, session) = (invocation[person], try invocation.session())
        try invocation.confirm("erase person \(id) from votes, which cannot be undone?")
        let erased = try await VoteWords.refusing {
            try await VoteChanges(session: session, actor: invocation.operatorName).erase(
                Int64(id), vote: invocation[onlyVote].map(Int64.init),
                reason: invocation[VoteWords.note])
        }
        try invocation.output.show(Record([("person", .id(id)), ("votes", .int(erased))]))
        return .done
    }
}
