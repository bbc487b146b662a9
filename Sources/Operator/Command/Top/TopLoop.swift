import ErrandAdministration
import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandTerminal
import ErrandThreads

/// Runs `errand top`: keys, looks at the servers, and pictures, until it is left.
struct TopLoop: Sendable {
    private enum Event: Sendable {
        case key(Key)
        case tick
        case read(TopData)
        case failed(String, took: Duration)
        /// What became of an action, in words.
        case acted(String)
        case filtered([String])
        case quit
    }

    let invocation: Invocation
    let reader: TopReader
    let screen: FullScreen
    let interval: Duration

    /// Looks take at most this share of the servers' time.
    private static let share = 100
    private static let tick = Duration.milliseconds(250)

    /// What is known besides the state.
    private struct Picture {
        var data: TopData?
        var trouble: String?
        var history = TopHistory()
        var isReading = false
        var mustRead = true
        var nextRead = ContinuousClock.now
        /// How many actions are under way, and whether the person wants to go after them.
        var acting = 0
        var isLeaving = false
        /// The lines of the job that is shown, of that data and width.
        var card: (of: Instant, width: Int, lines: [String])?
        /// When and how large the last picture was.
        var drawn: (second: Int64, size: TerminalSize)?
    }

    /// Shows and acts until the person quits, the terminal goes away or SIGTERM comes.
    ///
    /// Looks and actions are tasks that nobody waits for in the end: a server that hangs must not
    /// keep the terminal, and the process ends with the command.
    func run(_ initial: TopState) async throws {
        let (events, sender) = AsyncStream.makeStream(of: Event.self)
        let (actions, actionSender) = AsyncStream.makeStream(of: TopState.Request.self)
        let (looks, lookSender) = AsyncStream.makeStream(
            of: (TopView, Int).self, bufferingPolicy: .bufferingNewest(1))
        Termination.onRequest { sender.yield(.quit) }
        let keyboard = Keyboard(invocation.output.screen)
        let listen = { @Sendable in
            keyboard.listen {
                sender.yield(.key($0))
            } ended: {
                sender.yield(.quit)
            }
        }
        let tasks = [
            Task { await look(looks, sender) }, Task { await act(actions, sender) },
            Task {
                while !Task.isCancelled {
                    try? await Task.sleep(for: Self.tick)
                    sender.yield(.tick)
                }
            },
        ]
        try screen.enter()
        defer {
            screen.leave()
            keyboard.pauseListening()
            for task in tasks { task.cancel() }
        }
        listen()
        var state = initial
        var picture = Picture()
        for await event in events {
            var request: TopState.Request?
            switch event {
            case .key(let key): request = state.press(key)
            case .quit: request = .quit
            default: note(event, &state, &picture)
            }
            switch request {
            case .load: picture.mustRead = true
            case .suspend:
                keyboard.pauseListening()
                try? screen.suspend()
                listen()
            case .open, .act:
                picture.acting += request == nil ? 0 : 1
                request.map { _ = actionSender.yield($0) }
            case .quit: leave(&state, &picture)
            case nil: break
            }
            if picture.isLeaving, picture.acting == 0 { break }
            if isDue(picture, state) {
                picture.isReading = true
                picture.mustRead = false
                lookSender.yield((state.view, invocation.output.screen.size.rows * 2))
            }
            let isTick = if case .tick = event { true } else { false }
            guard draw(&state, &picture, onlyIfDue: isTick) else { break }
        }
    }

    /// What was confirmed is finished first, unless the person insists.
    private func leave(_ state: inout TopState, _ picture: inout Picture) {
        if picture.isLeaving { picture.acting = 0 }
        picture.isLeaving = true
        state.message = "what was asked for is still under way; q once more leaves it alone"
    }

    private func isDue(_ picture: Picture, _ state: TopState) -> Bool {
        guard !picture.isReading else { return false }
        return picture.mustRead || (!state.isFrozen && .now >= picture.nextRead)
    }

    private func note(_ event: Event, _ state: inout TopState, _ picture: inout Picture) {
        switch event {
        case .read(let data):
            picture.isReading = false
            picture.trouble = nil
            picture.history.add(data)
            picture.nextRead = .now + max(interval, data.took * Self.share)
            // The person has gone on meanwhile: what is shown is another's.
            guard data.view == state.view else {
                picture.mustRead = true
                return
            }
            picture.data = data
            state.take(data)
        case .failed(let text, let took):
            picture.isReading = false
            let pause = max(interval, took * Self.share)
            picture.trouble = "\(text); anew in \(HumanFormat.duration(pause)), u looks now"
            picture.nextRead = .now + pause
        case .acted(let text):
            picture.acting = max(0, picture.acting - 1)
            state.message = text
            picture.mustRead = true
        case .filtered(let words):
            picture.acting = max(0, picture.acting - 1)
            state.filtered(words)
            picture.mustRead = true
        case .key, .tick, .quit: break
        }
    }

    /// Draws, or does nothing where a tick finds all as it was; false when the terminal is gone.
    private func draw(
        _ state: inout TopState, _ picture: inout Picture, onlyIfDue: Bool
    ) -> Bool {
        let size = invocation.output.screen.size
        let now = Instant.now()
        let second = Int64(now.date.timeIntervalSince1970)
        if onlyIfDue, let drawn = picture.drawn, drawn == (second, size) { return true }
        picture.drawn = (second, size)
        state.room = max(1, size.rows - TopFrame.frameLines)
        if case .job(let id) = state.view, let data = picture.data, data.view == state.view {
            if picture.card?.of != data.at || picture.card?.width != size.columns {
                let lines = TopFrame.card(
                    data, id, width: size.columns, paint: invocation.output.paint,
                    times: invocation.output.times)
                picture.card = (data.at, size.columns, lines)
            }
            state.jobLines = picture.card?.lines.count ?? 0
        }
        state.settle()
        let frame = TopFrame(
            state: state, data: picture.data, card: picture.card?.lines ?? [],
            trouble: picture.trouble, history: picture.history.values, size: size,
            paint: invocation.output.paint, times: invocation.output.times,
            now: state.isFrozen ? picture.data?.at ?? now : now)
        do {
            try screen.draw(frame.lines())
            return true
        } catch {
            return false
        }
    }

    // MARK: Servers

    private func look(
        _ looks: AsyncStream<(TopView, Int)>, _ sender: AsyncStream<Event>.Continuation
    ) async {
        for await (view, limit) in looks {
            let start = ContinuousClock.now
            do {
                sender.yield(.read(try await reader.read(view, limit: limit)))
            } catch {
                sender.yield(.failed(Self.words(error), took: .now - start))
            }
        }
    }

    private func act(
        _ requests: AsyncStream<TopState.Request>, _ sender: AsyncStream<Event>.Continuation
    ) async {
        for await request in requests {
            do {
                switch request {
                case .open(let words):
                    try await reader.check(words)
                    sender.yield(.filtered(words))
                case .act(let action):
                    sender.yield(.acted(try await TopActions(invocation: invocation).do(action)))
                case .quit, .suspend, .load: break
                }
            } catch {
                sender.yield(.acted(Self.words(error)))
            }
        }
    }

    private static func words(_ error: any Error) -> String {
        let failure = error as? CommandFailure ?? describe(error)
        guard let failure else { return "\(error)" }
        return failure.message + (failure.hint.map { " (\($0))" } ?? "")
    }
}

/// Does what an operator confirmed in `errand top`.
struct TopActions: Sendable {
    let invocation: Invocation

    /// Does it, in a session of its own; what became of it, in words.
    func `do`(_ action: TopAction) async throws -> String {
        guard !invocation[GlobalOptions.readOnly] else {
            throw CommandFailure(
                exit: .refused, message: "this is read-only, so nothing was changed")
        }
        let inspector = Inspector(session: try invocation.session())
        let name = invocation.operatorName
        switch action {
        case .pause(let queue, let reason):
            let found = try await inspector.pause(queue, by: name, reason: reason)
            return found ? "queue \(queue) is paused" : "there is no queue \(queue)"
        case .resume(let queue):
            let found = try await inspector.resume(queue, by: name)
            return found ? "queue \(queue) goes on" : "there is no queue \(queue)"
        case .retry(let id): return told(id, try await inspector.retry([id], by: name))
        case .cancel(let id): return told(id, try await inspector.cancel([id], by: name))
        case .runNow(let id): return told(id, try await inspector.runNow([id], by: name))
        case .discard(let id): return told(id, try await inspector.discard([id], by: name))
        }
    }

    private func told(_ id: Int64, _ effects: [Int64: Inspector.Effect]) -> String {
        "job \(id): \(effects[id]?.rawValue ?? "nothing was done")"
    }
}

/// How many jobs ended a second in each queue, at the last looks.
struct TopHistory: Sendable {
    private static let length = 120

    private(set) var values: [String: [Double]] = [:]

    /// Nothing yet, or one look.
    init(_ data: TopData? = nil) {
        if let data { add(data) }
    }

    /// Adds a look.
    mutating func add(_ data: TopData) {
        for queue in data.queues {
            values[queue.record.name, default: []].append(queue.rate)
            if values[queue.record.name]?.count ?? 0 > Self.length {
                values[queue.record.name]?.removeFirst()
            }
        }
    }
}
