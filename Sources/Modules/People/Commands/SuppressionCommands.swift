import ErrandCommand
import ErrandPostgres
import ErrandTerminal
import FoundationEssentials

/// `errand person suppressions` and `suppress`: erasures outlive restored backups.
enum SuppressionCommands {
    static let all = [suppressions, suppress]

    // MARK: suppressions

    private static let to = Option<String?>.text(
        "to", placeholder: "FILE", help: "Replace this file with the list, outside of the database")

    private static let suppressions = Command(
        "person", "suppressions", effect: .write,
        summary: "List the ids of erased people, for use after a restore",
        discussion: """
            A restored backup has people again who were erased after it was made. Keep this list \
            outside of the database and its backups, for instance by a daily cron job, and apply \
            it after a restore with 'errand person suppress --from FILE'. It holds ids and times \
            only.
            """,
        examples: [
            .init("errand person suppressions --to /var/lib/errand/suppressions", "once a day")
        ],
        options: [to]
    ) { invocation in
        let session = try invocation.session()
        let erased = try await ErasureRows(session: session).suppressed()
        guard let path = invocation[to] else {
            try invocation.output.list(
                erased.map { entry in
                    Record([
                        ("person", .id(Int(entry.person))), ("erased_at", entry.erasedAt.cell),
                    ])
                }, columns: [Column("person"), Column("erased_at")], empty: "nobody was erased")
            return .done
        }
        let lines = erased.map { "\($0.person) \(HumanFormat.timestamp($0.erasedAt.date))\n" }
        try TextFile.replace(path, with: lines.joined())
        // The doctor compares its time with the erasures since.
        let line = AuditLine(
            operatorName: invocation.operatorName, action: invocation.command.name,
            subject: "people", reason: nil)
        _ = try await session.pipeline([line.statement])
        try invocation.output.show(
            Record([("file", .text(path)), ("people", .int(erased.count))]))
        return .done
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
            Run it after a restore, before apps and workers start; it can be repeated.
            """,
        examples: [
            .init("errand person suppress --from /var/lib/errand/suppressions", "after a restore")
        ],
        options: [from]
    ) { invocation in
        let path = invocation[from]
        let ids = try read(path)
        try invocation.confirm(
            "erase those of \(HumanFormat.count(ids.count)) people who are in the database?")
        let rows = ErasureRows(session: try invocation.session())
        var found: [Int64] = []
        for start in stride(from: 0, to: ids.count, by: 1_000) {
            let part = Array(ids[start..<min(start + 1_000, ids.count)])
            let line = AuditLine(
                operatorName: invocation.operatorName, action: invocation.command.name,
                subject: "people", reason: nil,
                change: try? AuditLine.json(["listed": part.count]))
            found += try await rows.suppress(part, note: line.statement)
        }
        try invocation.output.show(
            Record([("listed", .int(ids.count)), ("requested", .int(found.count))]))
        return .done
    }

    /// The ids of a list: the first word of each line.
    private static func read(_ path: String) throws -> [Int64] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(
                exit: .notFound, message: "cannot read \(path)",
                hint: "'errand person suppressions --to FILE' writes such a list")
        }
        return try String(decoding: data, as: UTF8.self).split(separator: "\n").map { line in
            guard let word = line.split(separator: " ").first, let id = Int64(word), id > 0 else {
                throw CommandFailure(
                    exit: .usage, message: "\(path): a line does not begin with a person's id",
                    hint: "nothing was changed")
            }
            return id
        }
    }
}
