import ErrandAdministration
import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand enqueue`.
enum EnqueueCommand {
    static let all = [command]

    private static let kind = Argument<String?>.optional(
        .text("KIND"), help: "The kind of job; with --bulk: the kind of all lines")
    private static let args = Argument<String?>.optional(
        .text("ARGS"), help: "The arguments: a JSON object, @FILE, or @- (default: {})")
    private static let count = Option.integer(
        "count", default: 1, range: 1...100_000_000, help: "Enqueue N copies")
    private static let bulk = Option<String?>.text(
        "bulk", placeholder: "FILE",
        help: "Enqueue one job per line of a file of JSON objects, or of standard input (-)")
    private static let skipBad = Option.flag(
        "skip-bad", help: "With --bulk: skip bad lines and enqueue the others")
    private static let queue = Option<String?>.text(
        "queue", placeholder: "NAME", help: "The queue (default: the kind's)")
    private static let priority = Option<Priority?>.value(
        "priority", JobInputOptions.level, help: "critical, high, normal or low")
    private static let maxAttempts = Option<Int?>.integer(
        "max-attempts", range: 1...32_767, help: "The number of attempts (default: the kind's)")
    private static let at = Option<Instant?>.value(
        "at", JobInputOptions.time, help: "When to start, such as 2026-11-20T08:00:00Z")
    private static let delay = Option<Duration?>.duration(
        "in", range: reasonable, help: "Start after this duration")
    private static let notAfter = Option<Instant?>.value(
        "not-after", JobInputOptions.time,
        help: "Deadline: discard the job if it has not started by then")
    private static let unique = Option<String?>.text(
        "unique", placeholder: "KEY",
        help: "Enqueue only if no job of this kind and key is waiting")
    private static let uniqueFor = Option<Duration?>.duration(
        "unique-for", range: reasonable,
        help: "With --unique: only if none was enqueued within this duration")
    private static let replace = Option.flag(
        "replace", help: "With --unique: replace the arguments of the waiting job")
    private static let tags = Option<[String]>.texts("tag", help: "Tags to search by")
    private static let timeout = Option<Duration?>.duration(
        "timeout", range: .milliseconds(1) ... .seconds(86_400 * 30),
        help: "The time limit of an attempt (default: the kind's)")
    private static let retention = Option<Duration?>.duration(
        "retention", range: .zero ... .seconds(3_650 * 86_400),
        help: "How long to keep the finished job (default: the kind's); 0s: not at all")
    /// Up to a century: anything longer is probably a mistake, and PostgreSQL's range is limited.
    private static let reasonable: ClosedRange<Duration> = .zero ... .seconds(36_500 * 86_400)

    private static let command = Command(
        "enqueue", effect: .write,
        summary: "Enqueue one job, many copies of it, or a file of jobs",
        discussion: """
            With --bulk each line is an object such as {"kind": "demo.noop", "args": {}, \
            "queue": "default", "priority": "high", "run_at": "2026-11-20T08:00:00Z", \
            "not_after": …, "max_attempts": 5, "tags": ["a"]}, or only the arguments if KIND \
            is given. All lines are enqueued in one transaction; a bad line aborts it.
            """,
        examples: [
            .init(
                "errand enqueue demo.sleep '{\"ms\": 500}' --in 10s",
                "one job, ten seconds from now"),
            .init("errand enqueue demo.noop --count 100000", "a hundred thousand copies"),
            .init("errand enqueue --bulk jobs.ndjson", "one job per line"),
        ],
        options: [
            count, bulk, skipBad, queue, priority, maxAttempts, at, delay, notAfter, unique,
            uniqueFor, replace, tags, timeout, retention, JobInputOptions.allowUnknown,
            AuditOptions.reason,
        ],
        arguments: [kind, args]
    ) { invocation in
        if let path = invocation[bulk] { return try await copy(path, invocation) }
        guard !invocation[skipBad] else {
            throw CommandFailure(exit: .usage, message: "--skip-bad requires --bulk FILE")
        }
        guard invocation[unique] == nil || invocation[count] == 1 else {
            throw CommandFailure(
                exit: .usage, message: "--count cannot be combined with --unique",
                hint: "only one job may wait per unique key")
        }
        guard let name = invocation[kind] else {
            throw CommandFailure(
                exit: .usage, message: "KIND is missing",
                hint: "errand enqueue KIND ['{\"argument\": 1}'], or --bulk FILE")
        }
        let bytes = try JobInputOptions.arguments(invocation[args] ?? "{}", kind: name)
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
            // One audit line covers all batches; it is written with the first.
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
                hint: "--replace replaces the arguments of a waiting job; 'errand job show "
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
                exit: .usage, message: "--unique-for and --replace require --unique KEY")
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
            throw CommandFailure(
                exit: .usage, message: "\(name) cannot be combined with --bulk")
        }
        for (given, name) in [
            (invocation[queue] != nil, "--queue"), (invocation[priority] != nil, "--priority"),
            (invocation[maxAttempts] != nil, "--max-attempts"), (invocation[at] != nil, "--at"),
            (invocation[delay] != nil, "--in"), (invocation[notAfter] != nil, "--not-after"),
            (!invocation[tags].isEmpty, "--tag"),
        ] where given && invocation[kind] == nil {
            throw CommandFailure(
                exit: .usage, message: "with --bulk, \(name) requires KIND",
                hint: "without KIND each line sets its own values")
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
            allowsUnknown: invocation[JobInputOptions.allowUnknown],
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
                exit: .failed, message: "\(lines.badCount) bad lines; nothing was enqueued",
                hint: "fix them, or pass --skip-bad to enqueue the others")
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
            of: kind, invocation.session(), allowsUnknown: invocation[JobInputOptions.allowUnknown])
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
