import ErrandAdministration
import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandTerminal
import ErrandThreads

/// The event loop of `errand top`: keys, queries and drawing, until the operator quits.
struct TopLoop: Sendable {
    private enum Event: Sendable {
        case key(Key)
        case tick
        case read(TopData)
        case failed(String, took: Duration)
        /// The result of an action, as a message.
        case acted(String)
        case filtered([String])
        case quit
    }

    let invocation: Invocation
    let reader: TopReader
    let screen: FullScreen
    let interval: Duration

    /// Queries take at most one part in this many of the servers' time.
    private static let share = 100
    private static let tick = Duration.milliseconds(250)

    /// The data on the screen, and the state of queries and actions.
    private struct Picture {
        var data: TopData?
        var trouble: String?
        var history = TopHistory()
        var isReading = false
        var mustRead = true
        var nextRead = ContinuousClock.now
        /// The number of running actions, and whether to quit after them.
        var acting = 0
        var isLeaving = false
        /// The lines of the open job, for the data of a time and a width.
        var card: (of: Instant, width: Int, lines: [String])?
        /// The time and size of the last screen.
        var drawn: (second: Int64, size: TerminalSize)?
    }

    /// Runs until the operator quits, the terminal closes or the process receives SIGTERM.
    ///
    /// It does not await the tasks of queries and actions when it ends: a server that hangs must
    /// not block the terminal, and the process exits after the command.
    func run(_ initial: TopState) async throws {
        let (events, sender) = AsyncStream.makeStream(of: Event.self)
        let (actions, actionSender) = AsyncStream.makeStream(of: TopState.Request.self)
        let (reads, readSender) = AsyncStream.makeStream(
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
            Task { await read(reads, sender) }, Task { await act(actions, sender) },
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
                readSender.yield((state.view, invocation.output.screen.size.rows * 2))
            }
            let isTick = if case .tick = event { true } else { false }
            guard draw(&state, &picture, onlyIfDue: isTick) else { break }
        }
    }

    /// Quits after the running actions; a second time at once.
    private func leave(_ state: inout TopState, _ picture: inout Picture) {
        if picture.isLeaving { picture.acting = 0 }
        picture.isLeaving = true
        state.message = "an action is still running; press q again to quit without waiting"
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
            // The operator has changed the view meanwhile: the data is of another view.
            guard data.view == state.view else {
                picture.mustRead = true
                return
            }
            picture.data = data
            state.take(data)
        case .failed(let text, let took):
            picture.isReading = false
            let pause = max(interval, took * Self.share)
            picture.trouble = "\(text); retry in \(HumanFormat.duration(pause)), u retries now"
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

    /// Draws the screen, on a tick only if it has changed; returns false if the terminal is closed.
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

    private func read(
        _ reads: AsyncStream<(TopView, Int)>, _ sender: AsyncStream<Event>.Continuation
    ) async {
        for await (view, limit) in reads {
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

/// Performs the actions that the operator confirms in `errand top`.
struct TopActions: Sendable {
    let invocation: Invocation

    /// Performs an action in its own session, and returns a message about the result.
    func `do`(_ action: TopAction) async throws -> String {
        guard !invocation[GlobalOptions.readOnly] else {
            throw CommandFailure(
                exit: .refused, message: "refused: read-only mode; nothing was changed")
        }
        let inspector = Inspector(session: try invocation.session())
        let name = invocation.operatorName
        switch action {
        case .pause(let queue, let reason):
            let found = try await inspector.pause(queue, by: name, reason: reason)
            return found ? "queue \(queue) is paused" : "there is no queue \(queue)"
        case .resume(let queue):
            let found = try await inspector.resume(queue, by: name)
            return found ? "queue \(queue) is resumed" : "there is no queue \(queue)"
        case .retry(let id): return message(id, try await inspector.retry([id], by: name))
        case .cancel(let id): return message(id, try await inspector.cancel([id], by: name))
        case .runNow(let id): return message(id, try await inspector.runNow([id], by: name))
        case .discard(let id): return message(id, try await inspector.discard([id], by: name))
        }
    }

    private func message(_ id: Int64, _ effects: [Int64: Inspector.Effect]) -> String {
        "job \(id): \(effects[id]?.rawValue ?? "not changed")"
    }
}

/// Finished attempts per second of each queue, at the last refreshes.
struct TopHistory: Sendable {
    private static let length = 120

    private(set) var values: [String: [Double]] = [:]

    /// Creates a history, empty or with one refresh.
    init(_ data: TopData? = nil) {
        if let data { add(data) }
    }

    /// Adds a refresh.
    mutating func add(_ data: TopData) {
        for queue in data.queues {
            values[queue.record.name, default: []].append(queue.rate)
            if values[queue.record.name]?.count ?? 0 > Self.length {
                values[queue.record.name]?.removeFirst()
            }
        }
    }
}
