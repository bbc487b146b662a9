import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand job why`.
enum WhyCommand {
    static let all = [command]

    private static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The job's id")

    private static let command = Command(
        "job", "why", effect: .read,
        summary: "Explain why a job does not run, and how to fix it",
        discussion: """
            Prints the cause and the command that fixes it, then any other causes that would \
            still keep the job from running. It changes nothing.
            """,
        examples: [.init("errand job why 4711", "why job 4711 does not run")],
        arguments: [id]
    ) { invocation in
        let id = Int64(invocation[id])
        let inspector = Inspector(session: try invocation.session())
        guard var situation = try await inspector.diagnosis(of: id) else {
            throw JobCommands.unknown(id)
        }
        if situation.timeout == nil {
            situation.timeout =
                invocation.modules.listedKinds().options(of: situation.lane.kind)?.timeout
        }
        let isWaiting = [.available, .retrying].contains(situation.state)
        if isWaiting, let address = try? invocation.redisAddress() {
            situation.window = await WindowProbe(address, instance: situation.instance)
                .state(of: id, in: situation.lane)
        }
        try show(situation, invocation)
        return .done
    }

    private static func show(_ situation: JobDiagnosis, _ invocation: Invocation) throws {
        let output = invocation.output
        let words = situation.causes.map {
            CauseFormatting(situation, output.times, invocation.modules).explain($0)
        }
        guard let first = words.first else { return }
        if !output.isForPeople {
            return try output.show(
                Record([
                    ("id", .id(Int(situation.id))), ("state", .text(situation.state.rawValue)),
                    ("cause", .text(situation.causes.first?.name ?? "")),
                    ("explanation", .text(first.sentence)),
                    ("remedy", .optional(first.remedy) { .text($0) }),
                    ("other_causes", .list(words.dropFirst().map(\.sentence))),
                ]))
        }
        for (place, explained) in words.enumerated() {
            let start = place == 0 ? "job \(situation.id): " : "also: "
            try output.line(DisplayWidth.harmless(start + explained.sentence))
            if let remedy = explained.remedy {
                try output.line("  " + DisplayWidth.harmless(remedy))
            }
        }
    }
}

/// Formats the causes that keep a job from running.
struct CauseFormatting {
    /// A cause as a sentence, and the command that fixes it.
    struct Explained {
        var sentence: String
        var remedy: String?

        init(_ sentence: String, _ remedy: String? = nil) {
            self.sentence = sentence
            self.remedy = remedy
        }
    }

    private let job: JobDiagnosis
    private let times: TimeFormat
    private let modules: Modules

    init(_ job: JobDiagnosis, _ times: TimeFormat, _ modules: Modules) {
        self.modules = modules
        self.job = job
        self.times = times
    }

    func explain(_ cause: JobCause) -> Explained {
        switch cause {
        case .completed, .cancelled, .dead: ended
        case .running, .overtime, .cancelling, .holderGone: held(cause)
        case .holderUnresponsive(let silence): silent(silence)
        case .tooLate(let end):
            Explained(
                "its deadline, \(time(end)), has passed: the next worker that claims it discards "
                    + "it", "errand job discard \(job.id)  # or wait for a worker to discard it")
        case .retrying(let wait):
            Explained(
                "attempt \(job.attempt) of \(job.maxAttempts) failed"
                    + (job.failure.map { " (\(Self.short($0.error)))" } ?? "")
                    + "; the next is due in \(HumanFormat.duration(wait)), at \(time(job.runAt))",
                "errand job run-now \(job.id)")
        case .scheduled(let wait):
            Explained(
                "it is due in \(HumanFormat.duration(wait)), at \(time(job.runAt))",
                "errand job run-now \(job.id)")
        case .paused(let pause): paused(pause)
        case .noWorker, .queueUnworked, .kindUnknown, .versionUnknown, .stopping, .quiet:
            unworked(cause)
        case .redisUnreachable(let text):
            Explained(
                "Redis, from which workers claim jobs, is not available from here: "
                    + Self.short(text), "errand doctor")
        case .redisEmptied:
            Explained(
                "Redis holds no staged jobs: it lost them, or the feeder has not staged any; the "
                    + "feeder stages jobs again within seconds",
                "errand redis rebuild --yes  # if it does not")
        case .limited(let limit): limited(limit)
        case .behind, .slotsBusy, .unstaged, .ready: inLine(cause)
        }
    }

    // MARK: Ended

    private var ended: Explained {
        let at = job.finishedAt.map { " at \(time($0))" } ?? ""
        let reason = job.reason.map { ": " + Self.short($0) } ?? ""
        switch job.state {
        case .completed:
            let took = job.duration.map { ", in \(HumanFormat.duration($0))" } ?? ""
            return Explained(
                "it was completed\(at)\(took)", "errand job retry \(job.id)  # runs it again")
        case .cancelled:
            return Explained("it was cancelled\(at)\(reason)", "errand job retry \(job.id)")
        default:
            return Explained(
                "it died\(at) after attempt \(job.attempt) of "
                    + "\(job.maxAttempts)\(reason.isEmpty ? lastError : reason)",
                "errand job retry \(job.id)  # once the cause is fixed; or errand job discard "
                    + "\(job.id)")
        }
    }

    private var lastError: String { job.failure.map { ": " + Self.short($0.error) } ?? "" }

    // MARK: Held by a worker

    private var worker: String {
        guard let holder = job.holder else { return "a worker" }
        guard holder.isKnown else { return "worker \(holder.id)" }
        return "worker \(holder.id) (\(holder.host), pid \(holder.pid))"
    }

    private func held(_ cause: JobCause) -> Explained {
        let length = job.startedAt.map { HumanFormat.duration(job.now.durationSince($0)) }
        let since = length.map { " for \($0)" } ?? ""
        let limit = job.timeout.map { HumanFormat.duration($0) } ?? "unknown"
        switch cause {
        case .overtime:
            return Explained(
                "it runs on \(worker)\(since), longer than its time limit of \(limit): its "
                    + "handler ignores its cancellation", "errand job cancel \(job.id)")
        case .cancelling:
            return Explained(
                "it runs on \(worker)\(since); its cancellation was requested, and its handler "
                    + "has not ended yet")
        case .holderGone:
            return Explained(
                "\(worker) claimed it and is no longer registered; the feeder recovers it within "
                    + "a minute", rescue)
        default:
            return Explained(
                "it runs: attempt \(job.attempt) of \(job.maxAttempts) on \(worker)\(since), "
                    + "time limit \(limit)", "errand job cancel \(job.id)  # stops it")
        }
    }

    private func silent(_ silence: Duration) -> Explained {
        let lease = job.holder?.lease ?? .zero
        let rest = lease - silence
        return Explained(
            "\(worker) holds it and has not responded for \(HumanFormat.duration(silence)); "
                + (rest > .zero
                    ? "the feeder recovers it in \(HumanFormat.duration(rest)), when the lease of "
                        + "\(HumanFormat.duration(lease)) expires"
                    : "its lease of \(HumanFormat.duration(lease)) has expired, and the feeder "
                        + "recovers it"),
            rescue)
    }

    /// The remedy for a job of a dead worker: the feeder, or any new worker, recovers it.
    private var rescue: String {
        job.isAnyWorkerAlive
            ? "errand leader show feeder  # the feeder recovers it"
            : "errand work --queues \(job.lane.queue)"
    }

    // MARK: Waiting

    private func paused(_ pause: JobDiagnosis.Pause) -> Explained {
        Explained(
            "its queue \(job.lane.queue) was paused by \(pause.by ?? "unknown") "
                + "\(HumanFormat.age(of: pause.at.date, now: job.now.date)), at \(time(pause.at))"
                + (pause.until.map { ", until \(time($0))" } ?? "")
                + (pause.reason.map { ": " + Self.short($0) } ?? ", without a reason"),
            "errand queue resume \(job.lane.queue)")
    }

    private func unworked(_ cause: JobCause) -> Explained {
        let lane = job.lane
        let start = "errand work --queues \(lane.queue)"
        switch cause {
        case .queueUnworked(let queues):
            return Explained(
                "no live worker serves its queue \(lane.queue); they serve "
                    + Self.listed(queues), start)
        case .kindUnknown(let kinds):
            return Explained(
                "no live worker of queue \(lane.queue) knows the kind \(lane.kind); they know "
                    + Self.listed(kinds), program)
        case .versionUnknown(let versions):
            return Explained(
                "no live worker of queue \(lane.queue) knows version \(lane.version) of the "
                    + "arguments of \(lane.kind); they know "
                    + Self.listed(versions.map(String.init)), program)
        case .stopping:
            return Explained("all live workers that could run it are stopping", start)
        case .quiet(let ids):
            return Explained(
                "all live workers that could run it are quiet: they claim no new jobs",
                "errand worker quiet \(ids.map(String.init).joined(separator: " ")) --undo")
        default:
            return Explained("no worker is alive", start)
        }
    }

    /// The remedy for a job that no live worker knows: a worker of this or of another program.
    private var program: String {
        if let start = modules.workCommand(for: job.lane) { return start }
        return "errand job cancel \(job.id)  # or 'errand work --queues \(job.lane.queue)' with a "
            + "program that knows it"
    }

    private func limited(_ limit: JobDiagnosis.ReachedLimit) -> Explained {
        let queue = job.lane.queue
        let before =
            job.ahead > 0 ? "; \(HumanFormat.count(job.ahead)) jobs are ahead of this one" : ""
        switch limit {
        case .running(let count, let most):
            return Explained(
                "its queue \(queue) runs \(HumanFormat.count(count)) of at most "
                    + HumanFormat.count(most) + before,
                "errand queue limit \(queue) --running \(most * 2)  # or --none")
        case .rate(let rate):
            return Explained(
                "its queue \(queue) has reached its start rate of \(rate)\(before)",
                "errand queue limit \(queue) --none  # or a higher --rate")
        }
    }

    private func inLine(_ cause: JobCause) -> Explained {
        let queue = job.lane.queue
        switch cause {
        case .behind(let count, let isCapped, let wait):
            let number = (isCapped ? "at least " : "") + HumanFormat.count(count)
            return Explained(
                "\(number) jobs of queue \(queue) with the same or a higher priority are ahead of "
                    + "it"
                    + (wait.map {
                        " (≈ \(HumanFormat.duration($0)) at the rate of the last minute)"
                    }
                        ?? "; none finished in the last minute"),
                "errand queue show \(queue)  # more workers or --concurrency; or errand job move "
                    + "\(job.id) --to \(queue) --priority critical")
        case .slotsBusy(let slots):
            return Explained(
                "it is next, but all \(HumanFormat.count(slots)) slots of queue \(queue) are busy",
                "errand job ls --queue \(queue) --state running")
        case .unstaged:
            return Explained(
                "it is due, but the feeder has not staged it in Redis",
                "errand job run-now \(job.id)  # stages it; 'errand doctor' shows the feeder")
        case .ready(let waited) where waited > .seconds(5):
            return Explained(
                "it has been due for \(HumanFormat.duration(waited)), and no cause is visible",
                "errand job run-now \(job.id)  # 'errand doctor' checks the servers")
        default:
            return Explained("it is due and starts shortly")
        }
    }

    // MARK: Texts

    private func time(_ instant: Instant) -> String { times.text(instant.date) }

    /// The first line, at most 200 characters of it.
    private static func short(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? text
        return line.count > 200 ? line.prefix(199) + "…" : line
    }

    private static func listed(_ names: [String]) -> String {
        guard names.count > 12 else { return names.joined(separator: ", ") }
        return names.prefix(12).joined(separator: ", ") + " and \(names.count - 12) more"
    }
}
