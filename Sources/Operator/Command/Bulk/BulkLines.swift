import ErrandJSONText
import FoundationEssentials
import Errand
import ErrandPostgres
import Synchronization
import ErrandTerminal

/// Reads the lines of a bulk enqueue, converts them to rows and reports each bad line.
///
/// The lines are read inside the COPY, on the thread of its connection, so memory use does not
/// depend on the size of the file.
final class BulkLines: Sendable {
    /// Some lines were bad, and nothing is enqueued.
    struct Bad: Error {}

    /// Why one line cannot be enqueued.
    private struct LineError: Error {
        var text: String
    }

    private struct State: ~Copyable {
        var reader: LineReader
        var rows = BulkRows()
        var lineNumber = 0
        var count = 0
        var badCount = 0
        var lanes: Set<Lane> = []
        var hasEnded = false
    }

    private static let pieceSize = 256 * 1024
    private static let shownErrors = 100

    private let state: Mutex<State>
    private let common: BulkRows.Job?
    private let known: [String: (version: Int, options: JobOptions)]
    private let allowsUnknown: Bool
    private let overrides: [UInt8]
    private let stopsAtEnd: Bool
    private let output: Output
    private let bar: ProgressBar

    init(
        path: String, common: BulkRows.Job?,
        known: [String: (version: Int, options: JobOptions)], allowsUnknown: Bool,
        origin: JobOrigin, stopsAtEnd: Bool, output: Output
    ) throws {
        state = Mutex(State(reader: try LineReader(path: path)))
        self.common = common
        self.known = known
        self.allowsUnknown = allowsUnknown
        overrides = try origin.overrides
        self.stopsAtEnd = stopsAtEnd
        self.output = output
        bar = ProgressBar("read", total: nil, output: output, now: .now)
    }

    var badCount: Int { state.withLock { $0.badCount } }
    var lanes: Set<Lane> { state.withLock { $0.lanes } }

    func finish(_ done: Int) { bar.finish(done: done, now: .now) }

    /// The next rows; nil at the end.
    @Sendable func next(_ now: Instant) throws -> [UInt8]? {
        try state.withLock { state in
            guard !state.hasEnded else { return nil }
            while state.rows.size < Self.pieceSize {
                guard let line = try state.reader.next() else {
                    state.hasEnded = true
                    if stopsAtEnd, state.badCount > 0 { throw Bad() }
                    return state.rows.end()
                }
                state.lineNumber += 1
                guard line.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { continue }
                do {
                    try add(line, &state, now)
                } catch let error as LineError {
                    complain(error, &state)
                }
            }
            bar.update(done: state.count, now: .now)
            return state.rows.take()
        }
    }

    private func complain(_ error: LineError, _ state: inout State) {
        state.badCount += 1
        if state.badCount <= Self.shownErrors {
            output.warn("line \(state.lineNumber): \(error.text)")
        } else if state.badCount == Self.shownErrors + 1 {
            output.warn("more bad lines are counted, but not shown")
        }
    }

    private func add(_ line: ArraySlice<UInt8>, _ state: inout State, _ now: Instant) throws {
        var job: BulkRows.Job
        var args = line
        if let common {
            try check { () throws(JSONSyntaxError) in try JSONScanner.checkObject(line) }
            job = common
        } else {
            (job, args) = try parse(line)
        }
        guard args.count <= JobClient.argumentLimit else {
            throw LineError(
                text: "\(JobError.argumentsTooLarge(kind: job.kind, bytes: args.count))")
        }
        state.rows.add(job, args: args, now: now)
        state.count += 1
        state.lanes.insert(Lane(queue: job.queue, kind: job.kind, version: job.version))
    }

    private func parse(_ line: ArraySlice<UInt8>) throws -> (BulkRows.Job, ArraySlice<UInt8>) {
        let members = try check { () throws(JSONSyntaxError) in
            try JSONScanner.members(of: line)
        }
        guard let kind = try members.first(where: { $0.name == "kind" }).map(text) else {
            throw LineError(
                text: "\"kind\" is missing: expected {\"kind\": …, \"args\": {…}}, or KIND on the "
                    + "command line")
        }
        var job = try defaults(of: kind)
        var args = Array("{}".utf8)[...]
        for member in members where member.name != "kind" {
            switch member.name {
            case "args":
                try check { () throws(JSONSyntaxError) in
                    try JSONScanner.checkObject(member.value)
                }
                args = member.value
            case "queue":
                job.queue = try text(member)
                guard JobKinds.isName(job.queue, limit: 63) else {
                    throw LineError(text: "\"queue\": expected a-z, 0-9, dot, dash, underscore")
                }
            case "priority": job.priority = try priority(member)
            case "run_at": job.runAt = try time(member)
            case "not_after": job.notAfter = try time(member)
            case "max_attempts": job.maxAttempts = try number(member, 1...32_767)
            case "args_version": job.version = Int(try number(member, 1...32_767))
            case "tags": job.tags = try decode(member, [String].self, "an array of texts")
            default:
                throw LineError(
                    text: "\"\(member.name)\" is unknown: expected kind, args, queue, priority, "
                        + "run_at, not_after, max_attempts, args_version or tags")
            }
        }
        return (job, args)
    }

    private func defaults(of kind: String) throws -> BulkRows.Job {
        guard let (version, options) = known[kind] ?? (allowsUnknown ? (1, JobOptions()) : nil)
        else {
            throw LineError(
                text: "no program has declared the kind \"\(kind)\" (--allow-unknown-kind "
                    + "accepts it)")
        }
        guard JobKinds.isName(kind, limit: 100) else {
            throw LineError(text: "\"kind\": expected a-z, 0-9, dot, dash, underscore")
        }
        var job = BulkRows.Job(
            queue: options.queue, kind: kind, version: version,
            priority: options.priority.rawValue, maxAttempts: Int16(options.maxAttempts))
        job.overrides = overrides
        return job
    }

    private func check<Value>(_ body: () throws(JSONSyntaxError) -> Value) throws -> Value {
        do { return try body() } catch { throw LineError(text: "\(error)") }
    }

    private func decode<Value: Decodable>(
        _ member: JSONScanner.Member, _ type: Value.Type, _ expected: String
    ) throws -> Value {
        guard let value = try? JSONDecoder().decode(type, from: Data(member.value)) else {
            throw LineError(text: "\"\(member.name)\": expected \(expected)")
        }
        return value
    }

    private func text(_ member: JSONScanner.Member) throws -> String {
        guard let text = JSONScanner.text(member.value) else {
            throw LineError(text: "\"\(member.name)\": expected a text")
        }
        return text
    }

    private func number(
        _ member: JSONScanner.Member, _ range: ClosedRange<Int16>
    ) throws -> Int16 {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        let value = try decode(member, Int16.self, expected)
        guard range.contains(value) else {
            throw LineError(text: "\"\(member.name)\": expected \(expected)")
        }
        return value
    }

    private func priority(_ member: JSONScanner.Member) throws -> Int16 {
        if member.value.first == 0x22 {
            let name = try text(member)
            if let level = Priority.allCases.first(where: { "\($0)" == name }) {
                return level.rawValue
            }
        } else if let number = try? number(member, 0...3) {
            return number
        }
        throw LineError(text: "\"priority\": expected critical, high, normal, low, or 0 to 3")
    }

    private func time(_ member: JSONScanner.Member) throws -> Instant? {
        guard member.value.elementsEqual("null".utf8) == false else { return nil }
        guard let instant = Instant(finite: try text(member)) else {
            throw LineError(
                text: "\"\(member.name)\": expected a time such as 2026-11-20T08:00:00Z")
        }
        return instant
    }
}
