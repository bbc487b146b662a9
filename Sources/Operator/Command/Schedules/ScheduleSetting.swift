import ErrandJSONText
import FoundationEssentials
import Errand
import ErrandTerminal

/// A setting of a schedule, by the name of its option.
enum ScheduleSetting: String, CaseIterable {
    case cron, tz, gap, `repeat`, starts, ends, jitter, kind, args, queue, priority, overlap
    case maxAttempts = "max-attempts"
    case catchUp = "catch-up"
    case catchUpWindow = "catch-up-window"
    case catchUpLimit = "catch-up-limit"
    case pauseAfter = "pause-after"
    case runLimit = "run-limit"

    /// The database column, which listings show as the name.
    var column: String {
        switch self {
        case .cron: "recurrence"
        case .tz: "zone"
        case .repeat: "repeats"
        case .starts: "starts_at"
        case .ends: "ends_at"
        case .jitter: "jitter_ms"
        case .catchUpWindow: "catch_up_window_s"
        case .gap, .kind, .args, .queue, .priority, .overlap, .maxAttempts, .catchUp,
            .catchUpLimit, .pauseAfter, .runLimit:
            rawValue.split(separator: "-").joined(separator: "_")
        }
    }

    /// Whether the setting can be cleared.
    var isOptional: Bool {
        switch self {
        case .gap, .repeat, .starts, .ends, .queue, .priority, .maxAttempts, .pauseAfter,
            .runLimit:
            true
        case .cron, .tz, .jitter, .kind, .args, .overlap, .catchUp, .catchUpWindow,
            .catchUpLimit:
            false
        }
    }

    /// The columns that change with the setting.
    var columns: [String] {
        switch self {
        case .kind, .args: [column, "args_version"]
        default: [column]
        }
    }

    private static func named(_ text: String) -> ScheduleSetting? {
        allCases.first { $0.rawValue == text || $0.column == text }
    }

    static let any = ValueFormat<ScheduleSetting>(
        "SETTING", expected: allCases.map(\.rawValue).joined(separator: ", ")
    ) { named($0) }

    static let optional = ValueFormat<ScheduleSetting>(
        "SETTING",
        expected: allCases.filter(\.isOptional).map(\.rawValue).joined(separator: ", ")
    ) { text in
        named(text).flatMap { $0.isOptional ? $0 : nil }
    }

    /// One setting as stored in the database.
    struct Member: Sendable {
        var name: String
        var value: [UInt8]

        /// The value for display: text without quotation marks, a priority by name.
        var cell: Cell {
            if value == Array("null".utf8) { return .missing }
            if name == ScheduleSetting.priority.column,
                let level = Int16(String(decoding: value, as: UTF8.self))
                    .flatMap(Priority.init(rawValue:))
            {
                return .text("\(level)")
            }
            return JSONScanner.text(value[...]).map(Cell.text) ?? .json(value)
        }
    }

    /// The settings in a JSON object, in the order of the options.
    static func members(of object: [UInt8]) throws -> [Member] {
        let found = try JSONScanner.members(of: object[...]).map {
            Member(name: $0.name, value: [UInt8]($0.value))
        }
        let order = allCases.map(\.column)
        func place(_ member: Member) -> Int {
            order.firstIndex(of: member.name) ?? order.count
        }
        return found.sorted { (place($0), $0.name) < (place($1), $1.name) }
    }
}
