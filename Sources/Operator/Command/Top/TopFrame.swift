import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// One screen of `errand top`, as lines that fit the terminal.
struct TopFrame {
    let state: TopState
    /// nil until the servers first respond.
    let data: TopData?
    /// The lines of the open job.
    let card: [String]
    /// Why the data is outdated; nil if it is current.
    let trouble: String?
    /// Finished attempts per second of each queue, at the last refreshes.
    let history: [String: [Double]]
    let size: TerminalSize
    let paint: Paint
    let times: TimeFormat
    let now: Instant

    /// The lines around the view: three above it, the table's header, one below it.
    static let frameLines = 5

    /// The screen from its first line to its last.
    func lines() -> [String] {
        var lines = [title, summary, ""]
        let body = state.showsHelp ? Self.help.map { cut($0) } : self.body
        lines += body.prefix(max(0, size.rows - lines.count - 1))
        while lines.count < size.rows - 1 { lines.append("") }
        lines.append(last)
        return lines
    }

    // MARK: Around the view

    private var title: String {
        let place = state.views.map { view in
            switch view {
            case .queues: "queues"
            case .jobs(let words):
                words.isEmpty ? "jobs" : "jobs \(CommandLineSplitter.joined(words))"
            case .job(let id): "job \(id)"
            }
        }.joined(separator: " > ")
        var right = times.text(now.date)
        if data?.view == state.view, data?.jobsReach != nil {
            right = "newest jobs only  " + right
        }
        if state.isFrozen { right = "frozen  " + right }
        let left = DisplayWidth.truncated(
            DisplayWidth.harmless("errand top: \(place)"),
            to: max(8, size.columns - right.count - 2))
        let gap = max(1, size.columns - DisplayWidth.of(left) - right.count)
        return cut(left + String(repeating: " ", count: gap) + right, .bold)
    }

    private var summary: String {
        guard let data else { return cut("reading …", .dim) }
        let queues = data.queues
        func sum(_ value: (QueueRecord) -> Int) -> String {
            let about = queues.contains { $0.record.isEstimate } ? "~" : ""
            return about + HumanFormat.count(queues.reduce(0) { $0 + value($1.record) })
        }
        let silent = data.unresponsiveWorkers
        let parts = [
            "\(sum(\.available)) waiting", "\(HumanFormat.count(running(queues))) running",
            "\(sum(\.retrying)) retrying",
            "\(HumanFormat.count(queues.reduce(0) { $0 + $1.record.dead })) dead",
            HumanFormat.rate(queues.reduce(0) { $0 + $1.rate }),
            "\(data.liveWorkers) workers"
                + (silent > 0 ? ", \(silent) unresponsive" : ""),
        ]
        let isBad = data.liveWorkers == 0 || silent > 0
        return cut(parts.joined(separator: "  "), isBad ? .yellow : nil)
    }

    private func running(_ queues: [TopQueue]) -> Int {
        queues.reduce(0) { $0 + max($1.record.running, $1.busy) }
    }

    private var last: String {
        switch state.prompt {
        case .filter(let text):
            return input("/", text, "filters of 'job ls', such as --state dead --kind X")
        case .reason(let queue, let text):
            return input("reason for pausing \(queue): ", text, "optional; Enter continues")
        case .confirm(let action, let typed):
            guard let word = state.mustType else {
                return cut("\(action.question)? [y/N]", .yellow, .bold)
            }
            return input("\(action.question)? type \(word): ", typed, "Esc cancels")
        case nil: break
        }
        if let trouble { return cut(DisplayWidth.harmless(trouble), .red, .bold) }
        if let message = state.message { return cut(DisplayWidth.harmless(message), .yellow) }
        let keys =
            switch state.view {
            case .queues: "Enter jobs  d dead  / filter  s order  f freeze  P pause  U resume"
            case .jobs: "Enter job  / filter  Esc back  R retry  C cancel  N run now  D discard"
            case .job: "↑↓ scroll  Esc back  R retry  C cancel  N run now  D discard"
            }
        return cut(keys + "  ? help  q quit", .dim)
    }

    private func input(_ question: String, _ text: String, _ hint: String) -> String {
        let room = size.columns - DisplayWidth.of(question) - 1
        // Shows the end of the input, where the cursor is.
        var shown = DisplayWidth.harmless(text)
        while DisplayWidth.of(shown) > max(1, room) { shown.removeFirst() }
        let line = question + shown + "█"
        guard text.isEmpty else { return cut(line) }
        let left = size.columns - DisplayWidth.of(line) - 1
        return cut(line) + " " + paint(DisplayWidth.truncated(hint, to: max(0, left)), .dim)
    }

    // MARK: The view

    private var body: [String] {
        guard let data else { return [] }
        // The data of every view includes the queues.
        if state.view == .queues {
            return table(queueRecords(data), queueColumns, none: "no queues")
        }
        guard data.view == state.view else { return [cut("reading …", .dim)] }
        if case .job = state.view { return Array(card.dropFirst(state.choice)) }
        let none = data.jobsReach.map { "no jobs match among \($0)" }
        return table(data.jobs.map(jobRecord), jobColumns, none: none ?? "no jobs match")
    }

    /// The lines of a table around the selected one, which is marked.
    private func table(_ records: [Record], _ columns: [Column], none: String) -> [String] {
        guard !records.isEmpty else { return [cut(none, .dim)] }
        let room = max(1, size.rows - Self.frameLines)
        let start = max(0, min(state.choice - room / 2, records.count - room))
        let shown = Array(records[start..<min(records.count, start + room)])
        let table = Table(shown, columns: columns)
        let plain = table.lines(width: size.columns - 2, paint: Paint(isColored: false))
        let painted = table.lines(width: size.columns - 2, paint: paint)
        return plain.indices.map { index in
            let isChosen = index > 0 && start + index - 1 == state.choice && !state.isStill
            guard isChosen else {
                return fits(plain[index]) ? "  " + painted[index] : cut("  " + plain[index])
            }
            let line = "> " + plain[index]
            return cut(DisplayWidth.padded(line, to: size.columns), .reversed)
        }
    }

    private func fits(_ line: String) -> Bool { DisplayWidth.of(line) <= size.columns - 2 }

    private func cut(_ text: String, _ styles: Style?...) -> String {
        let text = DisplayWidth.truncated(text, to: size.columns)
        return styles.compactMap(\.self).reduce(text) { paint($0, $1) }
    }

    // MARK: Queues

    private func queueRecords(_ data: TopData) -> [Record] {
        let width = max(8, min(60, size.columns - 72))
        return TopFrame.ordered(data.queues, state.order).map { queue in
            let record = queue.record
            let about = record.isEstimate ? "~" : ""
            let isSlow = record.oldest.map { now.durationSince($0) > .seconds(60) } ?? false
            let wait = record.oldest.map { HumanFormat.duration(now.durationSince($0).whole) }
            return Record([
                (
                    "queue",
                    record.pausedAt == nil ? .text(record.name) : .marked(record.name, .yellow)
                ),
                ("waiting", .text(about + HumanFormat.count(record.available))),
                (
                    "oldest",
                    wait.map { isSlow ? .marked($0, .yellow) : .text($0) } ?? .missing
                ),
                ("busy", .text("\(max(queue.busy, record.running))/\(queue.slots)")),
                ("retrying", .int(record.retrying)), ("scheduled", .int(record.scheduled)),
                (
                    "dead",
                    record.dead == 0 ? .int(0) : .marked(HumanFormat.count(record.dead), .red)
                ),
                ("rate", .text(HumanFormat.rate(queue.rate))),
                (
                    "ended",
                    .text(
                        record.pausedAt != nil
                            ? "paused" : Sparkline.text(history[record.name] ?? [], width: width))
                ),
            ])
        }
    }

    /// The queues in display order.
    static func ordered(_ queues: [TopQueue], _ order: TopOrder) -> [TopQueue] {
        queues.sorted { one, other in
            switch order {
            case .name: break
            case .waiting where one.record.available != other.record.available:
                return one.record.available > other.record.available
            case .oldest where one.record.oldest != other.record.oldest:
                return (one.record.oldest ?? .infinity) < (other.record.oldest ?? .infinity)
            case .dead where one.record.dead != other.record.dead:
                return one.record.dead > other.record.dead
            default: break
            }
            return one.record.name < other.record.name
        }
    }

    private var queueColumns: [Column] {
        [
            Column("queue", isFlexible: true), Column("waiting", alignment: .right),
            Column("oldest", alignment: .right), Column("busy", alignment: .right),
            Column("retrying", title: "RETRY", alignment: .right),
            Column("scheduled", title: "SCHED", alignment: .right),
            Column("dead", alignment: .right), Column("rate", alignment: .right),
            Column("ended"),
        ]
    }

    // MARK: Jobs

    /// The maximum length of an error or of arguments to show.
    private static let textLimit = 500

    private func jobRecord(_ job: JobRecord) -> Record {
        let text =
            job.lastError ?? job.reason
            ?? String(decoding: job.args.prefix(Self.textLimit), as: UTF8.self)
        return Record([
            ("id", .id(Int(job.id))), ("kind", .text(job.kind)),
            ("state", .marked(job.state.rawValue, JobCommands.style(job.state))),
            ("attempt", .text("\(job.attempt)/\(job.maxAttempts)")),
            ("when", .text(HumanFormat.age(of: Self.time(of: job).date, now: now.date))),
            ("queue", .text(job.queue)), ("about", .text(String(text.prefix(Self.textLimit)))),
        ])
    }

    /// The time that matters in the job's state: when it finished, started or is due.
    private static func time(of job: JobRecord) -> Instant {
        job.finishedAt ?? (job.state == .running ? job.startedAt : nil) ?? job.runAt
    }

    private var jobColumns: [Column] {
        let all = [
            Column("id"), Column("kind", maxWidth: size.columns < 100 ? 22 : 40), Column("state"),
            Column("attempt", title: "TRY"), Column("when", alignment: .right),
        ]
        return all + (size.columns < 100 ? [] : [Column("queue")])
            + [Column("about", isFlexible: true)]
    }

    // MARK: One job

    /// The lines of one job: why it does not run, then its record.
    static func card(
        _ data: TopData, _ id: Int64, width: Int, paint: Paint, times: TimeFormat
    ) -> [String] {
        guard let job = data.job else {
            return ["there is no job \(id): retention may have deleted it"]
        }
        var lines: [String] = []
        for explained in data.why {
            lines += wrapped(explained.sentence, width).map { paint($0, .bold) }
            if let remedy = explained.remedy {
                lines += wrapped(remedy, width - 2).map { "  " + $0 }
            }
        }
        lines.append("")
        var record = JobCommands.card(job, data.history)
        record.fields.removeAll { $0.cell == .missing }
        let plain = RecordCard(record, times: times).lines(paint: Paint(isColored: false))
        return lines + plain.flatMap { wrapped($0, width) }
    }

    /// Wraps a text at a width, within words if necessary.
    private static func wrapped(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for character in DisplayWidth.harmless(text) {
            if DisplayWidth.of(line) + DisplayWidth.of(String(character)) > max(10, width) {
                lines.append(line)
                line = ""
            }
            line.append(character)
        }
        return lines + [line]
    }

    private static let help = [
        "Lowercase keys only read; uppercase keys make changes, after confirmation.", "",
        "  ↑ ↓ k j   select a line, scroll          Enter l →   open it",
        "  PgUp PgDn Home End g G                   Esc h ←     back",
        "  /   filter jobs, with the options of 'errand job ls'",
        "  d   dead letters of the queue            s   change the sort order",
        "  f   freeze or unfreeze the screen        u   refresh now",
        "  q   back, or quit                        Ctrl-C      quit", "",
        "  P   pause the queue                      U   resume it",
        "  R   retry the job                        C   cancel it",
        "  N   run it now                           D   discard it for good", "",
        "Each action is also a command: 'errand queue pause', 'errand job retry', …",
        "Press any key to close this help.",
    ]
}

extension Duration {
    /// The duration in whole seconds, which is precise enough for waits.
    fileprivate var whole: Duration { .seconds(components.seconds) }
}
