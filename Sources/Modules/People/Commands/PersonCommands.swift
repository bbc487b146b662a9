import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand person ls`, `show` and `export`.
enum PersonCommands {
    static let all = [list, show, export]

    // MARK: ls

    private static let inState = Option<PersonState?>.value(
        "state", .choice(of: PersonState.self, "STATE"), help: "Only people in this state")

    private static let list = Command(
        "person", "ls", effect: .read, summary: "List people, highest id first",
        discussion: """
            A blocked person gets no notice, offer, code, grant or money: the erasure was \
            requested, or the person is under 16. Of an erased person only the id is left.
            """,
        examples: [.init("errand person ls --state blocked", "who waits for an erasure")],
        options: [inState, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let people = try await PersonRows(session: try invocation.session()).page(
            state: invocation[inState], behind: invocation[PageOptions.cursor].map(Int64.init),
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            people.map(PersonFormatting.record),
            columns: [
                Column("id"), Column("state"), Column("obstacle"), Column("time_zone"),
                Column("created_at"), Column("last_seen_at"),
            ], empty: "no people match")
        PageOptions.printMore(invocation, count: people.count, last: people.last?.id)
        return .done
    }

    // MARK: show

    private static let show = Command(
        "person", "show", effect: .read,
        summary: "Show a person with their consents and erasures",
        discussion: """
            --reveal also shows the facts of people.put_person, such as the address. \
            'errand person export' prints what all modules know.
            """,
        examples: [.init("errand person show 42", "how far an erasure is")],
        options: RevealOptions.all, arguments: [PersonFormatting.id]
    ) { invocation in
        let id = invocation[PersonFormatting.id]
        let session = try invocation.session()
        guard let found = try await PersonRows(session: session).person(Int64(id)) else {
            throw PersonFormatting.unknown(id)
        }
        var record = PersonFormatting.record(found.person)
        if try await RevealOptions.isGranted(invocation, subject: "person \(id)"),
            let facts = try await PersonRows(session: session).facts(of: Int64(id))
        {
            record.append("facts", .json(facts))
        }
        record.append("consents", .records(found.consents.map(PersonFormatting.record)))
        let erasures = try await ErasureRows(session: session).erasures(of: Int64(id))
        record.append("erasures", .records(erasures.map(PersonFormatting.record)))
        try invocation.output.show(record)
        return .done
    }

    // MARK: export

    private static let why = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500), help: "The reason, for the audit log")

    private static let export = Command(
        "person", "export", effect: .write,
        summary: "Print all that is known of a person, as JSON",
        discussion: """
            Reads the facts, the consents and the data of each module. Sealed values, such as bank \
            details, are named but not opened. The audit log records who exported. Apps export at \
            most once a day by people.export_data; operators are not limited.
            """,
        examples: [.init("errand person export 42 > person-42.json", "to answer a request")],
        options: [why], arguments: [PersonFormatting.id]
    ) { invocation in
        let id = invocation[PersonFormatting.id]
        let note = PersonFormatting.line(invocation, id, reason: invocation[why])
        let rows = PersonRows(session: try invocation.session())
        guard let data = try await rows.export(Int64(id), note: note) else {
            throw PersonFormatting.unknown(id)
        }
        try invocation.output.line(String(decoding: data, as: UTF8.self))
        return .done
    }
}
