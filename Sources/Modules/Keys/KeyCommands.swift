import ErrandCrypto
import FoundationEssentials
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandSealing
import ErrandTerminal

/// `errand key …`: the keys that seal secrets in the database.
enum KeyCommands {
    static let all = [new, list, rotate]

    // MARK: new

    private static let name = Option<String?>.text(
        "name", placeholder: "NAME",
        help: "1 to 64 letters, digits, -, _ or . (default: today's date and a random suffix)")

    private static let new = Command(
        "key", "new", effect: .configure,
        summary: "Print a new line for the key file",
        discussion: """
            Prints NAME and 32 random bytes in base64, and stores nothing. To rotate the key: \
            append the line to the key file of every process, and restart them, so that all can \
            open values sealed with it. Then move it to the top and restart them again. Then run \
            'errand key rotate', which reports when the older lines may be removed.
            """,
        examples: [
            .init("umask 077; errand key new >> errand.keys", "append a key to the file")
        ],
        options: [name]
    ) { invocation in
        let name = try invocation[name] ?? freshName()
        // A missing or invalid file does not prevent a new key.
        if let keys = try? KeySettings.keys(invocation.environment), keys.names.contains(name) {
            throw CommandFailure(
                exit: .conflict,
                message: "the file of \(KeySettings.variable) already has a key \(name)",
                hint: "use another name, or omit --name to generate one")
        }
        let line: String
        do throws(CryptoError) { line = try KeyFile.newLine(name: name) } catch {
            throw CommandFailure(exit: .usage, message: "--name: \(error)")
        }
        try invocation.output.line(line)
        invocation.output.note(
            "store it in a file that only errand may read (chmod 600), named by "
                + "\(KeySettings.variable); append it below existing keys "
                + "('errand key new --help')")
        return .done
    }

    private static func freshName() throws -> String {
        let today = HumanFormat.timestamp(Date()).prefix(10)
        let end = try randomBytes(2)
        return "\(today)-" + end.map { String($0, radix: 16) }.joined()
    }

    // MARK: ls

    private static let list = Command(
        "key", "ls", effect: .read,
        summary: "List the keys, and the number of values each has sealed",
        discussion: """
            Includes missing keys: the database has values sealed with them, but the key file \
            lacks them. Such values cannot be opened, and the command exits with 1.
            """,
        examples: [.init("errand key ls", "the keys that are still needed")]
    ) { invocation in
        let keys = try KeySettings.keys(invocation.environment)
        let session = try invocation.session()
        let columns = try await invocation.usableModules(session).all.sealedColumns
        let state = try await KeyState(keys, Resealing(session: session).counts(of: columns))
        try invocation.output.list(
            state.records,
            columns: [
                Column("name"), Column("state"), Column("count"),
                Column("columns", isFlexible: true),
            ],
            empty: "no keys are set up and nothing is sealed; 'errand key new' creates a key")
        if let failure = state.failure { throw failure }
        return .done
    }

    // MARK: rotate

    private static let dryRun = Option.flag(
        "dry-run", help: "Only show the number of values to reseal")

    private static let rotate = Command(
        "key", "rotate", effect: .write,
        summary: "Reseal all values with the first key",
        discussion: """
            Reseals the values sealed with older keys, in batches of one transaction each. It may \
            be interrupted and run again. Concurrent changes are kept. Reports the older keys that \
            are no longer needed. Exits with 7 if some values could not be opened.
            """,
        examples: [
            .init("errand key rotate --dry-run", "the number of values to reseal"),
            .init("errand key rotate --reason 'yearly'", "once the new key is at the top"),
        ],
        options: [dryRun, AuditOptions.reason]
    ) { invocation in
        let keys = try KeySettings.needed(invocation.environment)
        let session = try invocation.unlimitedSession()
        let columns = try await invocation.usableModules(session).all.sealedColumns
        let resealing = Resealing(session: session)
        let before = try await resealing.counts(of: columns)
        var results: [String: Resealed] = [:]
        if !invocation[dryRun] {
            for column in columns {
                let older = before.filter { $0.column == column.name && $0.key != keys.names[0] }
                guard !older.isEmpty else { continue }
                results[column.name] = try await resealing.reseal(
                    column, with: keys, note: try note(column, keys, older, invocation))
            }
        }
        let after = try await resealing.counts(of: columns)
        let state = KeyState(keys, after)
        try invocation.output.list(
            columns.map { column in
                let left = after.filter { $0.column == column.name && $0.key != keys.names[0] }
                return Record([
                    ("column", .text(column.name)), ("key", .text(keys.names[0])),
                    ("done", .int(results[column.name]?.done ?? 0)),
                    ("left", .int(left.reduce(0) { $0 + $1.count })),
                ])
            }, empty: "nothing is sealed in this database")
        state.reportOlderKeys(invocation.output)
        return invocation[dryRun] ? .done : try end(state, results)
    }

    private static func note(
        _ column: SealedColumn, _ keys: SealingKeys, _ older: [SealedCount],
        _ invocation: Invocation
    ) throws -> Statement {
        struct Change: Encodable {
            var key: String
            var count: Int
        }
        return AuditLine(
            operatorName: invocation.operatorName, action: "key rotate", subject: column.name,
            reason: invocation[AuditOptions.reason],
            change: try AuditLine.json(
                Change(key: keys.names[0], count: older.reduce(0) { $0 + $1.count }))
        ).statement
    }

    private static func end(
        _ state: KeyState, _ results: [String: Resealed]
    ) throws(CommandFailure) -> ExitCode {
        let damaged = results.filter { $0.value.damagedCount > 0 }.sorted { $0.key < $1.key }
        if let (column, result) = damaged.first {
            throw CommandFailure(
                exit: .partlyDone,
                message: "\(result.damagedCount) values of \(column) cannot be opened, as they "
                    + "were changed or moved: \(result.damaged.joined(separator: "; "))",
                hint: "set these values again; no key can open them")
        }
        if let failure = state.failure {
            throw CommandFailure(
                exit: .partlyDone, message: failure.message, hint: failure.hint)
        }
        return .done
    }
}

/// Compares the keys of the key file with those that the database needs.
struct KeyState {
    private let keys: SealingKeys?
    private let counts: [SealedCount]

    init(_ keys: SealingKeys?, _ counts: [SealedCount]) {
        self.keys = keys
        self.counts = counts
    }

    private var names: [String] { keys?.names ?? [] }
    private func count(_ key: String?) -> Int {
        counts.filter { $0.key == key }.reduce(0) { $0 + $1.count }
    }

    /// The keys that have sealed values and are not in the file.
    var missing: [String] {
        Set(counts.compactMap(\.key)).subtracting(names).sorted()
    }
    /// The number of values sealed with older keys.
    var olderCount: Int { names.dropFirst().reduce(0) { $0 + count($1) } }
    /// The number of values sealed with missing keys.
    var missingCount: Int { missing.reduce(0) { $0 + count($1) } }
    /// The number of values that no key has sealed.
    var unsealedCount: Int { count(nil) }
    /// The number of values.
    var total: Int { counts.reduce(0) { $0 + $1.count } }

    /// A record for each key.
    var records: [Record] {
        let known = zip(0..., names).map { index, name in
            record(name, index == 0 ? ("seals", Style.green) : ("opens", .cyan))
        }
        return known + missing.map { record($0, ("missing", .red)) }
    }

    private func record(_ name: String, _ state: (word: String, style: Style)) -> Record {
        let mine = counts.filter { $0.key == name }
        let columns = mine.map { "\($0.column): \(HumanFormat.count($0.count))" }
        return Record([
            ("name", .text(name)), ("state", .marked(state.word, state.style)),
            ("count", .int(count(name))),
            (
                "columns",
                .brief(
                    .list(columns),
                    of: .records(
                        mine.map {
                            Record([("column", .text($0.column)), ("count", .int($0.count))])
                        }))
            ),
        ])
    }

    /// The reason why values cannot be opened; nil if all can.
    var failure: CommandFailure? {
        if !missing.isEmpty {
            let isSingle = missing.count == 1
            return CommandFailure(
                exit: .failed,
                message: "\(HumanFormat.count(missingCount)) sealed values need "
                    + "\(isSingle ? "a missing key" : "missing keys"): "
                    + missing.joined(separator: ", "),
                hint: "restore \(isSingle ? "its line" : "their lines") in the file that "
                    + "\(KeySettings.variable) names, below the first key")
        }
        guard unsealedCount > 0 else { return nil }
        return CommandFailure(
            exit: .failed, message: "\(HumanFormat.count(unsealedCount)) values were never sealed",
            hint: "set them again; no key can open them")
    }

    /// Prints which of the older keys are still needed.
    func reportOlderKeys(_ output: Output) {
        let older = names.dropFirst()
        let needed = older.filter { count($0) > 0 }
        if !needed.isEmpty {
            output.note(
                "still needed: "
                    + needed.map { "\($0) (\(HumanFormat.count(count($0))) values)" }
                    .joined(separator: ", ")
                    + "; run 'errand key rotate' again once no process seals with them")
        }
        let free = older.filter { count($0) == 0 }
        if !free.isEmpty {
            output.note(
                "no longer needed: \(free.joined(separator: ", ")); remove their lines once no "
                    + "process has one of them at the top of its file")
        }
    }
}
