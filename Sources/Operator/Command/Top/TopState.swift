import ErrandAdministration
import Errand
import ErrandTerminal

/// A view of `errand top`.
enum TopView: Equatable, Sendable {
    case queues
    /// The newest jobs that match filters of `job ls`.
    case jobs([String])
    case job(Int64)
}

/// An action of `errand top`; each is also a command.
enum TopAction: Equatable, Sendable {
    case pause(queue: String, reason: String?)
    case resume(queue: String)
    case retry(Int64)
    case cancel(Int64)
    case runNow(Int64)
    case discard(Int64)

    /// The question of the confirmation, without its question mark.
    var question: String {
        switch self {
        case .pause(let queue, _): "pause queue \(queue)"
        case .resume(let queue): "resume queue \(queue)"
        case .retry(let id): "retry job \(id)"
        case .cancel(let id): "cancel job \(id)"
        case .runNow(let id): "run job \(id) now"
        case .discard(let id): "discard job \(id) for good"
        }
    }
}

/// The sort order of the queues.
enum TopOrder: String, CaseIterable, Sendable {
    case name, waiting, oldest, dead
}

/// The navigation state of `errand top` and the effects of keys, without servers or a screen.
struct TopState: Sendable {
    /// The input in the last line.
    enum Prompt: Equatable, Sendable {
        case filter(String)
        /// The reason for a pause of the queue.
        case reason(queue: String, text: String)
        case confirm(TopAction, typed: String)
    }

    /// A request to the event loop.
    enum Request: Equatable, Sendable {
        case quit
        case suspend
        /// Read the data of the view now.
        case load
        case open(filter: [String])
        case act(TopAction)
    }

    private(set) var views: [TopView] = [.queues]
    /// The selected line of each view.
    private(set) var chosen: [Int] = [0]
    private(set) var prompt: Prompt?
    private(set) var showsHelp = false
    private(set) var isFrozen = false
    private(set) var order = TopOrder.name
    /// The result of the last action, shown until the next key.
    var message: String?
    /// The word that confirms changes, in a production context.
    var mustType: String?
    /// The rows of the view, from the top: names of queues, or ids of jobs.
    var queues: [String] = []
    var jobs: [Int64] = []
    /// The number of lines that fit on the screen, and of those of the open job.
    var room = 10
    var jobLines = 0
    /// Whether the screen is only printed, without a selection.
    var isStill = false

    var view: TopView { views[views.count - 1] }
    var choice: Int { chosen[chosen.count - 1] }

    /// Starts with the jobs of a filter, or with the queues.
    init(filter: [String] = []) {
        if !filter.isEmpty { open(.jobs(filter)) }
    }

    /// Handles a key; returns a request, or nil if only the screen changes.
    mutating func press(_ key: Key) -> Request? {
        message = nil
        if key == .control("c") { return .quit }
        if key == .control("z") { return .suspend }
        if let prompt { return answer(prompt, key) }
        if showsHelp {
            showsHelp = false
            return nil
        }
        switch key {
        case .up, .character("k"): move(by: -1)
        case .down, .character("j"): move(by: 1)
        case .pageUp, .control("b"): move(by: -room)
        case .pageDown, .control("f"), .character(" "): move(by: room)
        case .home, .character("g"): move(by: -lineCount)
        case .end, .character("G"): move(by: lineCount)
        case .enter, .right, .character("l"): return openChosen()
        case .escape, .left, .backspace, .character("h"): return back()
        case .character("q"): return views.count > 1 ? back() : .quit
        case .control("l"), .character("u"): return .load
        case .character(let letter): return press(letter)
        default: break
        }
        return nil
    }

    private mutating func press(_ letter: Character) -> Request? {
        switch letter {
        case "?": showsHelp = true
        case "f": isFrozen.toggle()
        case "s":
            let all = TopOrder.allCases
            order = all[((all.firstIndex(of: order) ?? 0) + 1) % all.count]
            choose(0)
            return .load
        case "/":
            guard case .jobs(let words) = view else {
                prompt = .filter(chosenQueue.map { "--queue \($0) " } ?? "")
                return nil
            }
            prompt = .filter(words.isEmpty ? "" : CommandLineSplitter.joined(words) + " ")
        case "d":
            guard let queue = chosenQueue else { return nil }
            return show(.jobs(["--queue", queue, "--state", "dead"]))
        case "P":
            if let queue = chosenQueue { prompt = .reason(queue: queue, text: "") }
        case "U":
            if let queue = chosenQueue { prompt = .confirm(.resume(queue: queue), typed: "") }
        case "R", "C", "N", "D": ask(letter)
        default: break
        }
        return nil
    }

    private mutating func ask(_ letter: Character) {
        guard let id = chosenJob else { return }
        let action: TopAction =
            switch letter {
            case "R": .retry(id)
            case "C": .cancel(id)
            case "N": .runNow(id)
            default: .discard(id)
            }
        prompt = .confirm(action, typed: "")
    }

    /// Updates the rows of the view; the same queue or job stays selected.
    mutating func take(_ data: TopData) {
        let queue = chosenQueue
        let job = view == .queues ? nil : chosenJob
        queues = TopFrame.ordered(data.queues, order).map(\.record.name)
        jobs = data.jobs.map(\.id)
        switch view {
        case .queues: queue.flatMap { queues.firstIndex(of: $0) }.map { choose($0) }
        case .jobs: job.flatMap { jobs.firstIndex(of: $0) }.map { choose($0) }
        case .job: break
        }
        settle()
    }

    private mutating func choose(_ line: Int) { chosen[chosen.count - 1] = line }

    /// Moves the selection into the range of lines.
    mutating func settle() {
        chosen[chosen.count - 1] = max(0, min(choice, lineCount - 1))
    }

    private var chosenQueue: String? {
        guard view == .queues, queues.indices.contains(choice) else { return nil }
        return queues[choice]
    }

    private var chosenJob: Int64? {
        switch view {
        case .queues: nil
        case .jobs: jobs.indices.contains(choice) ? jobs[choice] : nil
        case .job(let id): id
        }
    }

    /// The number of lines to select from, or to scroll through.
    private var lineCount: Int {
        switch view {
        case .queues: queues.count
        case .jobs: jobs.count
        case .job: max(1, jobLines - room + 1)
        }
    }

    private mutating func move(by lines: Int) {
        chosen[chosen.count - 1] = max(0, min(choice + lines, lineCount - 1))
    }

    private mutating func openChosen() -> Request? {
        switch view {
        case .queues: chosenQueue.flatMap { show(.jobs(["--queue", $0])) }
        case .jobs: chosenJob.flatMap { show(.job($0)) }
        case .job: nil
        }
    }

    private mutating func show(_ view: TopView) -> Request? {
        open(view)
        return .load
    }

    private mutating func open(_ view: TopView) {
        views.append(view)
        chosen.append(0)
        jobs = []
        jobLines = 0
    }

    private mutating func back() -> Request? {
        guard views.count > 1 else { return nil }
        views.removeLast()
        chosen.removeLast()
        return .load
    }

    /// Shows the jobs of a valid filter.
    mutating func filtered(_ words: [String]) {
        if case .jobs = view {
            views[views.count - 1] = .jobs(words)
            chosen[chosen.count - 1] = 0
            jobs = []
        } else {
            open(.jobs(words))
        }
    }

    // MARK: The last line

    private mutating func answer(_ prompt: Prompt, _ key: Key) -> Request? {
        if key == .escape {
            self.prompt = nil
            return nil
        }
        switch prompt {
        case .filter(let text):
            guard key == .enter else {
                self.prompt = .filter(Self.edited(text, key))
                return nil
            }
            self.prompt = nil
            return .open(filter: CommandLineSplitter.split(text))
        case .reason(let queue, let text):
            guard key == .enter else {
                self.prompt = .reason(queue: queue, text: Self.edited(text, key))
                return nil
            }
            let reason = text.split(separator: " ").joined(separator: " ")
            let action = TopAction.pause(queue: queue, reason: reason.isEmpty ? nil : reason)
            self.prompt = .confirm(action, typed: "")
            return nil
        case .confirm(let action, let typed): return confirm(action, typed, key)
        }
    }

    private mutating func confirm(_ action: TopAction, _ typed: String, _ key: Key) -> Request? {
        guard let mustType else {
            prompt = nil
            return [.character("y"), .character("Y")].contains(key) ? .act(action) : nil
        }
        guard key == .enter else {
            prompt = .confirm(action, typed: Self.edited(typed, key))
            return nil
        }
        prompt = nil
        if typed == mustType { return .act(action) }
        message = "the text is not \(mustType): nothing was changed"
        return nil
    }

    private static func edited(_ text: String, _ key: Key) -> String {
        switch key {
        case .character(let letter): text.count < 500 ? text + String(letter) : text
        case .backspace, .delete: String(text.dropLast())
        case .control("u"): ""
        case .control("w"):
            String(text.reversed().drop { $0 == " " }.drop { $0 != " " }.reversed())
        default: text
        }
    }
}

/// Splits and joins words as a shell does.
enum CommandLineSplitter {
    /// Splits a line into words; single or double quotes protect spaces.
    static func split(_ line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + "\(character)" }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + "\(character)"
            }
        }
        return words + (word.map { [$0] } ?? [])
    }

    /// Joins words into a line; the inverse of ``split(_:)``.
    static func joined(_ words: [String]) -> String {
        words.map { word in
            let isPlain = !word.isEmpty && !word.contains { " '\"".contains($0) }
            if isPlain { return word }
            return "'"
                + word.split(separator: "'", omittingEmptySubsequences: false)
                .joined(separator: #"'"'"'"#) + "'"
        }.joined(separator: " ")
    }
}
