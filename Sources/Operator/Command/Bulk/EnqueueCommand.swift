import ErrandAdministration
import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand enqueue`.
enum EnqueueCommand {
    static let all = [command]

    private static let kind = Argument<String?>.optional(
        .text("KIND"), help: "The kind of job; with --bulk: of all lines")
    private static let args = Argument<String?>.optional(
        .text("ARGS"), help: "Its arguments as a JSON object, or @FILE, or @- (default: {})")
    private static let count = Option.integer(
        "count", default: 1, range: 1...100_000_000, help: "So many of the same")
    private static let bulk = Option<String?>.text(
        "bulk", placeholder: "FILE",
        help: "One job for each line of a file of JSON objects, or of standard input (-)")
    private static let skipBad = Option.flag(
        "skip-bad", help: "With --bulk: enqueue the good lines although others are bad")
    private static let queue = Option<String?>.text(
        "queue", placeholder: "NAME", help: "Another queue than the kind's")
    private static let priority = Option<Priority?>.value(
        "priority", JobWords.level, help: "critical, high, normal or low")
    private static let maxAttempts = Option<Int?>.integer(
        "max-attempts", range: 1...32_767, help: "Another number of attempts than the kind's")
    private static let at = Option<Instant?>.value(
        "at", JobWords.time, help: "When to start, such as 2026-11-20T08:00:00Z")
    private static let delay = Option<Duration?>.duration(
        "in", range: reasonable, help: "Start after this time")
    private static let notAfter = Option<Instant?>.value(
        "not-after", JobWords.time, help: "Drop the job if it has not started by then")
    private static let unique = Option<String?>.text(
        "unique", placeholder: "KEY", help: "Only if no job of the kind with this key waits")
    private static let uniqueFor = Option<Duration?>.duration(
        "unique-for", range: reasonable,
        help: "With --unique: only if none was enqueued within this time")
    private static let replace = Option.flag(
        "replace", help: "With --unique: give the waiting job the new arguments")
    private static let tags = Option<[String]>.texts("tag", help: "Words to find the job by")
    private static let timeout = Option<Duration?>.duration(
        "timeout", range: .milliseconds(1) ... .seconds(86_400 * 30),
        help: "Another time limit than the kind's")
    private static let retention = Option<Duration?>.duration(
        "retention", range: .zero ... .seconds(3_650 * 86_400),
        help: "Another time to be kept once finished; 0s keeps no trace")
    /// A century: what is longer is a slip, and PostgreSQL's calendar ends somewhere.
    private static let reasonable: ClosedRange<Duration> = .zero ... .seconds(36_500 * 86_400)

    private static let command = Command(
        "enqueue", effect: .changes,
        summary: "Enqueue one job, many of the same, or a file of them",
        discussion: """
            With --bulk each line is an object such as {"kind": "demo.noop", "args": {}, \
            "queue": "default", "priority": "high", "run_at": "2026-11-20T08:00:00Z", \
            "not_after": …, "max_attempts": 5, "tags": ["a"]}, or just the arguments when KIND \
            is given. All is enqueued in one transaction, or nothing if a line is bad.
            """,
        examples: [
            .init(
                "errand enqueue demo.sleep '{\"ms\": 500}' --in 10s",
                "one job, ten seconds from now"),
            .init("errand enqueue demo.noop --count 100000", "a hundred thousand of the same"),
            .init("errand enqueue --bulk jobs.ndjson", "one job a line"),
        ],
        options: [
            count, bulk, skipBad, queue, priority, maxAttempts, at, delay, notAfter, unique,
            uniqueFor, replace, tags, timeout, retention, JobWords.allowUnknown,
            AuditOptions.reason,
        ],
        arguments: [kind, args]
    ) { invocation in
        if let path = invocation[bulk] { return try await copy(path, invocation) }
        guard !invocation[skipBad] else {
            throw CommandFailure(exit: .usage, message: "--skip-bad goes with --bulk FILE")
        }
        guard invocation[unique] == nil || invocation[count] == 1 else {
            throw CommandFailure(
                exit: .usage, message: "--count does not go with --unique",
                hint: "only one job may wait under a key")
        }
        guard let name = invocation[kind] else {
            throw CommandFailure(
                exit: .usage, message: "no kind is given",
                hint: "errand enqueue KIND ['{\"argument\": 1}'], or --bulk FILE")
        }
        let bytes = try JobWords.arguments(invocation[args] ?? "{}", kind: name)
        let client = try await invocation.client()
        let defaults = try await defaults(of: name, invocation)
        let shape = try EnqueueShape(
            kind: name, version: defaults.version, defaults: defaults.options,
            options: try asked(invocation))
        return try await enqueue(bytes, shape, client, invocation)
    }

    private static func enqueue(
        _ bytes: [UInt8], _ shape: EnqueueShape, _ client: JobClient, _ invocation: Invocation
    ) async throws -> ExitCode {
        let total = invocation[count]
        let runAt = try runAt(invocation)
        let bar = ProgressBar("enqueued", total: total, output: invocation.output, now: .now)
        var done = 0
        var last: Enqueued?
        while done < total {
            let batch = [[UInt8]](repeating: bytes, count: min(2_000, total - done))
            // One line says all of it, and is there as soon as one job is.
            last = try await client.enqueue(
                batch, at: runAt, shape: shape,
                audit: done == 0 ? line(of: total, shape, invocation) : nil
            ).last
            done += batch.count
            if total > 1 { bar.update(done: done, now: .now) }
        }
        if total > 1 { bar.finish(done: done, now: .now) }
        await client.flush()
        guard let last else { return .done }
        if total == 1 {
            try invocation.output.show(
                Record([
                    ("id", .id(Int(last.id))), ("kind", .text(shape.lane.kind)),
                    ("queue", .text(shape.lane.queue)), ("result", .text(last.result.rawValue)),
                ]))
            guard last.result == .skipped else { return .done }
            throw CommandFailure(
                exit: .conflict,
                message: "job \(last.id) holds the unique key; nothing was enqueued",
                hint: "--replace gives a waiting job the new arguments; 'errand job show "
                    + "\(last.id)' shows it")
        }
        try invocation.output.show(
            Record([
                ("enqueued", .int(done)), ("kind", .text(shape.lane.kind)),
                ("queue", .text(shape.lane.queue)), ("last_id", .id(Int(last.id))),
            ]))
        return .done
    }

    private static func line(
        of count: Int, _ shape: EnqueueShape, _ invocation: Invocation
    ) -> @Sendable ([Enqueued]) -> AuditLine? {
        struct Change: Encodable {
            var queue: String
            var count: Int
            var firstID: Int64?

            enum CodingKeys: String, CodingKey {
                case queue, count
                case firstID = "first_id"
            }
        }
        return { made in
            guard made.contains(where: { $0.result != .skipped }) else { return nil }
            let change = Change(queue: shape.lane.queue, count: count, firstID: made.first?.id)
            return AuditLine(
                operatorName: invocation.operatorName, action: "enqueue",
                subject: shape.lane.kind, reason: invocation[AuditOptions.reason],
                change: try? AuditLine.json(change))
        }
    }

    private static func asked(_ invocation: Invocation) throws -> EnqueueOptions {
        var options = EnqueueOptions(
            queue: invocation[queue], priority: invocation[priority],
            maxAttempts: invocation[maxAttempts], timeout: invocation[timeout],
            retention: invocation[retention], notAfter: invocation[notAfter]?.date,
            tags: invocation[tags])
        options.origin = JobOrigin(operatorName: invocation.operatorName)
        if let key = invocation[unique] {
            options.unique = Unique(
                key, invocation[uniqueFor].map(Unique.Scope.within) ?? .whileWaiting,
                onDuplicate: invocation[replace] ? .replace : .skip)
        } else if invocation[uniqueFor] != nil || invocation[replace] {
            throw CommandFailure(
                exit: .usage, message: "--unique-for and --replace go with --unique KEY")
        }
        return options
    }

    private static func runAt(_ invocation: Invocation) throws -> Instant? {
        guard invocation[at] == nil || invocation[delay] == nil else {
            throw CommandFailure(exit: .usage, message: "give --at or --in, not both")
        }
        return invocation[at] ?? invocation[delay].map { Instant.now().adding($0) }
    }

    // MARK: Bulk

    private static func copy(_ path: String, _ invocation: Invocation) async throws -> ExitCode {
        for (given, name) in [
            (invocation[args] != nil, "ARGS"), (invocation[count] != 1, "--count"),
            (invocation[unique] != nil, "--unique"), (invocation[timeout] != nil, "--timeout"),
            (invocation[retention] != nil, "--retention"),
            (invocation[uniqueFor] != nil, "--unique-for"), (invocation[replace], "--replace"),
        ] where given {
            throw CommandFailure(exit: .usage, message: "\(name) does not go with --bulk")
        }
        for (given, name) in [
            (invocation[queue] != nil, "--queue"), (invocation[priority] != nil, "--priority"),
            (invocation[maxAttempts] != nil, "--max-attempts"), (invocation[at] != nil, "--at"),
            (invocation[delay] != nil, "--in"), (invocation[notAfter] != nil, "--not-after"),
            (!invocation[tags].isEmpty, "--tag"),
        ] where given && invocation[kind] == nil {
            throw CommandFailure(
                exit: .usage, message: "\(name) goes with --bulk only when KIND is given",
                hint: "without it each line says so for itself")
        }
        let client = try await invocation.client()
        var common: BulkRows.Job?
        if let name = invocation[kind] {
            let defaults = try await defaults(of: name, invocation)
            let shape = try EnqueueShape(
                kind: name, version: defaults.version, defaults: defaults.options,
                options: try asked(invocation))
            common = BulkRows.Job(shape)
        }
        common?.runAt = try runAt(invocation)
        common?.tags = invocation[tags]
        common?.notAfter = invocation[notAfter]
        let lines = try BulkLines(
            path: path, common: common, known: try await knownKinds(invocation),
            allowsUnknown: invocation[JobWords.allowUnknown],
            origin: JobOrigin(operatorName: invocation.operatorName),
            stopsAtEnd: !invocation[skipBad],
            output: invocation.output)
        let done: Int
        do {
            done = try await client.copy(
                lanes: { lines.lanes },
                audit: { count in
                    AuditLine(
                        operatorName: invocation.operatorName, action: "enqueue",
                        subject: invocation[kind] ?? "several kinds",
                        reason: invocation[AuditOptions.reason],
                        change: try? AuditLine.json(["count": count]))
                }, next: lines.next)
        } catch is BulkLines.Bad {
            throw CommandFailure(
                exit: .failed, message: "\(lines.badCount) bad lines, so nothing was enqueued",
                hint: "mend them, or pass --skip-bad to enqueue the others")
        }
        await client.flush()
        lines.finish(done)
        try invocation.output.show(
            Record([("enqueued", .int(done)), ("bad_lines", .int(lines.badCount))]))
        return lines.badCount > 0 ? .partlyDone : .done
    }

    private static func defaults(
        of kind: String, _ invocation: Invocation
    ) async throws -> (version: Int, options: JobOptions) {
        try await invocation.kindDefaults(
            of: kind, invocation.session(), allowsUnknown: invocation[JobWords.allowUnknown])
    }

    private static func knownKinds(
        _ invocation: Invocation
    ) async throws -> [String: (version: Int, options: JobOptions)] {
        let session = try invocation.session()
        var all = try await Inspector(session: session).declaredKinds()
        let known = try await invocation.knownKinds(session)
        for name in known.names {
            guard let options = known.options(of: name), let version = known.argsVersion(of: name)
            else { continue }
            all[name] = (version, options)
        }
        return all
    }
}
