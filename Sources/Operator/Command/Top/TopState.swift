import ErrandAdministration
import Errand
import ErrandTerminal

/// What `errand top` shows.
enum TopView: Equatable, Sendable {
    case queues
    /// The newest jobs that pass the filters of `job ls`, as words.
    case jobs([String])
    case job(Int64)
}

/// What an operator can do from `errand top`; each is a command too.
enum TopAction: Equatable, Sendable {
    case pause(queue: String, reason: String?)
    case resume(queue: String)
    case retry(Int64)
    case cancel(Int64)
    case runNow(Int64)
    case discard(Int64)

    /// Completes "… ?", as it is asked before it is done.
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

/// In which order the queues stand.
enum TopOrder: String, CaseIterable, Sendable {
    case name, waiting, oldest, dead
}

/// Where an operator is in `errand top`, and what a key does there; knows no server and no screen.
struct TopState: Sendable {
    /// What the last line asks.
    enum Prompt: Equatable, Sendable {
        case filter(String)
        /// The reason for a pause of the queue.
        case reason(queue: String, text: String)
        case confirm(TopAction, typed: String)
    }

    /// What is to be done outside.
    enum Request: Equatable, Sendable {
        case quit
        case suspend
        /// The data of the view, as soon as can be.
        case load
        case open(filter: [String])
        case act(TopAction)
    }

    private(set) var views: [TopView] = [.queues]
    /// The line that is chosen, in each view.
    private(set) var chosen: [Int] = [0]
    private(set) var prompt: Prompt?
    private(set) var showsHelp = false
    private(set) var isFrozen = false
    private(set) var order = TopOrder.name
    /// What became of the last action, until the next key.
    var message: String?
    /// Named by whoever confirms, where changes need it: the context is a production one.
    var mustType: String?
    /// What the view shows now: names of queues, or ids of jobs, from the top.
    var queues: [String] = []
    var jobs: [Int64] = []
    /// How many lines of the view fit on the screen, and how many the open job has.
    var room = 10
    var jobLines = 0
    /// Nobody chooses: a picture that is only printed.
    var isStill = false

    var view: TopView { views[views.count - 1] }
    var choice: Int { chosen[chosen.count - 1] }

    /// Begins in the jobs of a filter, behind which the queues are.
    init(filter: [String] = []) {
        if !filter.isEmpty { open(.jobs(filter)) }
    }

    /// What a key asks for; nil when only the screen changes.
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
            prompt = .filter(words.isEmpty ? "" : TopWords.joined(words) + " ")
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

    /// Takes what was read for the view; what was chosen stays chosen, wherever it stands now.
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

    /// Keeps the choice among the lines that there are.
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

    /// Lines to choose from; of a job, how far its card can be moved up.
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

    /// Shows the jobs of a filter that was found to be right.
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
            return .open(filter: TopWords.split(text))
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
        message = "that is not \(mustType), so nothing was changed"
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

/// Words on one line, as a shell has them.
enum TopWords {
    /// The words of a line; quotes of either sort keep spaces within one.
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

    /// One line of words, from which ``split(_:)`` makes the same ones.
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
