import ErrandCrypto
import FoundationEssentials
import Errand
import ErrandCommand
import ErrandPostgres
import ErrandSealing
import ErrandTerminal

/// `errand key …`: the keys by which small secrets are sealed in the database.
enum KeyCommands {
    static let all = [new, list, rotate]

    // MARK: new

    private static let name = Option<String?>.text(
        "name", placeholder: "NAME",
        help: "1 to 64 letters, digits, -, _ or . (default: today's date and a random end)")

    private static let new = Command(
        "key", "new", effect: .configures,
        summary: "Print a new line for the file of keys",
        discussion: """
            Prints NAME and 32 random bytes in base64, and keeps nothing. A key is changed in four \
            steps: add the line at the end of the key file of every process, so that all can open \
            what it seals; restart them; move it to the top and restart them again; then run \
            'errand key rotate', which says when the older lines may go.
            """,
        examples: [
            .init("umask 077; errand key new >> errand.keys", "the first key, or one more")
        ],
        options: [name]
    ) { invocation in
        let name = try invocation[name] ?? freshName()
        // A file that is not there yet, or not right, is no reason to make no key.
        if let keys = try? KeySettings.keys(invocation.environment), keys.names.contains(name) {
            throw CommandFailure(
                exit: .conflict,
                message: "the file of \(KeySettings.variable) has a key \(name) already",
                hint: "a new key needs a new name; without --name one is made up")
        }
        let line: String
        do throws(CryptoError) { line = try KeyFile.newLine(name: name) } catch {
            throw CommandFailure(exit: .usage, message: "--name: \(error)")
        }
        try invocation.output.line(line)
        invocation.output.note(
            "keep it in a file that only errand may read (chmod 600), named by "
                + "\(KeySettings.variable); where there are keys already, add it below them first "
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
        "key", "ls", effect: .looks,
        summary: "List the keys, which one seals, and how many values each has sealed",
        discussion: """
            Also those that the database needs and the file lacks: what they sealed cannot be \
            opened, and the exit code is 1.
            """,
        examples: [.init("errand key ls", "which keys are still needed")]
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
            empty: "no keys are set up and nothing is sealed; 'errand key new' makes a key")
        if let failure = state.failure { throw failure }
        return .done
    }

    // MARK: rotate

    private static let dryRun = Option.flag("dry-run", help: "Only show what would be sealed anew")

    private static let rotate = Command(
        "key", "rotate", effect: .changes,
        summary: "Seal everything anew by the first key",
        discussion: """
            Goes through all values that older keys have sealed, in batches of a transaction each. \
            It may be interrupted, and goes on where it was when it is run again; what others \
            change meanwhile keeps their change. Then it says which older keys seal nothing any \
            more. Exits 7 when values are left that it could not open.
            """,
        examples: [
            .init("errand key rotate --dry-run", "how much there is to do"),
            .init("errand key rotate --reason 'yearly'", "after the new key came to the top"),
        ],
        options: [dryRun, AuditOptions.reason]
    ) { invocation in
        let keys = try KeySettings.needed(invocation.environment)
        let session = try invocation.patientSession()
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
        state.tellWhatMayGo(invocation.output)
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
                message: "\(result.damagedCount) values of \(column) were changed, or belong "
                    + "elsewhere, and stay as they are: \(result.damaged.joined(separator: "; "))",
                hint: "set these rows anew; nothing can open what they hold")
        }
        if let failure = state.failure {
            throw CommandFailure(
                exit: .partlyDone, message: failure.message, hint: failure.hint)
        }
        return .done
    }
}

/// The keys that there are, beside those that the database needs.
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

    /// Keys that have sealed something and are not there.
    var missing: [String] {
        Set(counts.compactMap(\.key)).subtracting(names).sorted()
    }
    /// Values under keys that no longer seal.
    var olderCount: Int { names.dropFirst().reduce(0) { $0 + count($1) } }
    /// Values under keys that are not there.
    var missingCount: Int { missing.reduce(0) { $0 + count($1) } }
    /// Bytes that no key has sealed.
    var strangeCount: Int { count(nil) }
    /// All that there is.
    var total: Int { counts.reduce(0) { $0 + $1.count } }

    /// A line for each key.
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

    /// Why something cannot be opened.
    var failure: CommandFailure? {
        if !missing.isEmpty {
            let many = missing.count > 1
            return CommandFailure(
                exit: .failed,
                message: "\(HumanFormat.count(missingCount)) sealed values need "
                    + "\(many ? "keys that are" : "a key that is") not there: "
                    + missing.joined(separator: ", "),
                hint: "put \(many ? "their lines" : "its line") back into the file that "
                    + "\(KeySettings.variable) names, below the first key")
        }
        guard strangeCount > 0 else { return nil }
        return CommandFailure(
            exit: .failed, message: "\(HumanFormat.count(strangeCount)) values were never sealed",
            hint: "set them anew; nothing can open what they hold")
    }

    /// Says which keys are still needed, and which not.
    func tellWhatMayGo(_ output: Output) {
        let older = names.dropFirst()
        let needed = older.filter { count($0) > 0 }
        if !needed.isEmpty {
            output.note(
                "still needed: "
                    + needed.map { "\($0) (\(HumanFormat.count(count($0))) values)" }
                    .joined(separator: ", ")
                    + "; run 'errand key rotate' again once no process seals by them")
        }
        let free = older.filter { count($0) == 0 }
        if !free.isEmpty {
            output.note(
                "sealed nothing that is left: \(free.joined(separator: ", ")); once no process "
                    + "has one of them at the top of its file, their lines may go")
        }
    }
}
