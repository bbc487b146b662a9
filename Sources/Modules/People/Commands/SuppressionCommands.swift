import ErrandCommand
import ErrandPostgres
import ErrandTerminal
import FoundationEssentials

/// `errand person suppressions` and `suppress`: erasures outlive restored backups.
enum SuppressionCommands {
    static let all = [suppressions, suppress]

    // MARK: suppressions

    private static let to = Option<String?>.text(
        "to", placeholder: "FILE", help: "Add the list to this file, outside of the database")

    private static let suppressions = Command(
        "person", "suppressions", effect: .write,
        summary: "List the ids of erased people, for use after a restore",
        discussion: """
            A restored backup has people again who were erased after it was made. Keep this list \
            outside of the database and its backups, for instance by a daily cron job, and apply \
            it after a restore with 'errand person suppress --from FILE'. It holds ids and times \
            only. Who is in the file stays in it. Exit 7 if people of the file are in the \
            database and not erased, as after a restore.
            """,
        examples: [
            .init("errand person suppressions --to /var/lib/errand/suppressions", "once a day")
        ],
        options: [to]
    ) { invocation in
        let session = try invocation.session()
        let rows = ErasureRows(session: session)
        let erased = try await rows.suppressed()
        guard let path = invocation[to] else {
            try invocation.output.list(
                erased.map { entry in
                    Record([
                        ("person", .id(Int(entry.person))), ("erased_at", entry.erasedAt.cell),
                    ])
                }, columns: [Column("person"), Column("erased_at")], empty: "nobody was erased")
            return .done
        }
        // A restored database does not know those who were erased since.
        let old = FileManager.default.fileExists(atPath: path) ? try read(path) : []
        let list = Suppression.union(old, erased)
        let lines = list.map { "\($0.person) \(HumanFormat.timestamp($0.erasedAt.date))\n" }
        try TextFile.replace(path, with: lines.joined())
        // The doctor compares its time with the erasures since.
        let line = AuditLine(
            operatorName: invocation.operatorName, action: invocation.command.name,
            subject: "people", reason: nil)
        _ = try await session.pipeline([line.statement])
        try invocation.output.show(
            Record([("file", .text(path)), ("people", .int(list.count))]))
        let forgotten = try await rows.countForgotten(list)
        guard forgotten > 0 else { return .done }
        throw CommandFailure(
            exit: .partlyDone,
            message: "\(path): people of the list who are not erased: "
                + "\(HumanFormat.count(forgotten)); was a backup restored?",
            hint: "errand person suppress --from \(path)")
    }

    // MARK: suppress

    private static let from = Option<String?>.text(
        "from", placeholder: "FILE", help: "The list that 'errand person suppressions' wrote"
    ).required()

    private static let suppress = Command(
        "person", "suppress", effect: .write,
        summary: "Erase people again who are in a restored backup",
        discussion: """
            Requests the erasure of each person of the list who is in the database and not erased. \
            Run it after a restore, before apps and workers start; it can be repeated. A person \
            who was created after the time of the list is another one and is left alone.
            """,
        examples: [
            .init("errand person suppress --from /var/lib/errand/suppressions", "after a restore")
        ],
        options: [from]
    ) { invocation in
        let path = invocation[from]
        let list = try read(path)
        try invocation.confirm(
            "erase those of \(HumanFormat.count(list.count)) people who are in the database?")
        let rows = ErasureRows(session: try invocation.session())
        var found: [Int64] = []
        for start in stride(from: 0, to: list.count, by: 1_000) {
            let part = Array(list[start..<min(start + 1_000, list.count)])
            let line = AuditLine(
                operatorName: invocation.operatorName, action: invocation.command.name,
                subject: "people", reason: nil,
                change: try? AuditLine.json(["listed": part.count]))
            found += try await rows.suppress(part, note: line.statement)
        }
        try invocation.output.show(
            Record([("listed", .int(list.count)), ("requested", .int(found.count))]))
        return .done
    }

    /// The people of a list: each line has an id, a space and the time of the erasure.
    private static func read(_ path: String) throws -> [Suppression] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(
                exit: .notFound, message: "cannot read \(path)",
                hint: "'errand person suppressions --to FILE' writes such a list")
        }
        // A character can be more than one line feed: after a carriage return it is one with it.
        return try String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).map {
            let words = $0.split(separator: " ")
            guard words.count == 2, let person = Int64(words[0]), person > 0,
                let time = Instant(finite: String(words[1]))
            else {
                throw CommandFailure(
                    exit: .usage,
                    message: "\(path): a line is not a person's id and the time of the erasure",
                    hint: "nothing was changed")
            }
            return Suppression(person: person, erasedAt: time)
        }
    }
}
