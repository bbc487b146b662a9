import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand establishment ls|show`.
enum EstablishmentCommands {
    static let all = [list, show]

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The establishment's id")
    private static let named = Option<String?>.value(
        "name", .line("TEXT", upTo: 200), help: "Only those with this text in their names")
    private static let closed = Option.flag("closed", help: "Only closed ones")

    private static func record(_ establishment: EstablishmentRecord) -> Record {
        Record([
            ("id", .id(Int(establishment.id))), ("name", .text(establishment.name)),
            ("branch_count", .int(Int(establishment.branches))),
            ("closed_at", .optional(establishment.closedAt) { $0.cell }),
        ])
    }

    private static let list = Command(
        "establishment", "ls", effect: .read, summary: "List establishments by id",
        examples: [.init("errand establishment ls --name café", "by a part of the name")],
        options: [named, closed, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let found = try await EstablishmentRows(session: try invocation.session()).page(
            named: invocation[named], isClosed: invocation[closed],
            behind: invocation[PageOptions.cursor].map(Int64.init) ?? 0,
            limit: invocation[PageOptions.limit])
        try invocation.output.list(
            found.map(record),
            columns: [
                Column("id"), Column("name", isFlexible: true), Column("branch_count"),
                Column("closed_at"),
            ], empty: "no establishments match")
        PageOptions.printMore(invocation, count: found.count, last: found.last?.id)
        return .done
    }

    private static let show = Command(
        "establishment", "show", effect: .read,
        summary: "Show an establishment with its branches",
        examples: [.init("errand establishment show 7", "its branches and their places")],
        arguments: [id]
    ) { invocation in
        let rows = EstablishmentRows(session: try invocation.session())
        guard let found = try await rows.establishment(Int64(invocation[id])) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no establishment \(invocation[id])",
                hint: "'errand establishment ls' lists them")
        }
        var card = record(found)
        card.append(
            "branches",
            .records(
                try await rows.branches(of: found.id).map { branch in
                    Record([
                        ("id", .id(Int(branch.id))), ("name", .text(branch.name)),
                        ("longitude", .number(branch.longitude, decimals: 6)),
                        ("latitude", .number(branch.latitude, decimals: 6)),
                        ("closed_at", .optional(branch.closedAt) { $0.cell }),
                    ])
                }))
        try invocation.output.show(card)
        return .done
    }
}
