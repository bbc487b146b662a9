/// Why there is no zone for a name; the text says what to write or do instead.
public enum ZoneError: Error, Equatable, CustomStringConvertible {
    /// The name has no letters.
    case empty
    /// The name is built like a path of the file system.
    case path(String)
    /// The name is that of a file which lies beside the zones.
    case reserved(String, why: String)
    /// The name is an abbreviation, with the name of a zone that uses it.
    case abbreviation(String, example: String)
    /// The name is a distance from universal time, with a zone of that distance if there is one.
    case fixedOffset(String, zone: String?)
    /// The name is a rule for the variable TZ.
    case posixRule(String)
    /// The name is that of an area, with a zone in it.
    case area(String, example: String?)
    /// No zone has this name, with the one that was probably meant.
    case unknown(String, suggestion: String?)
    /// No folder holds zones.
    case noDatabase(searched: [String])
    /// The zone's file cannot be read.
    case unreadable(file: String, reason: String)
    /// The zone's file is not what it should be.
    case malformed(file: String, problem: String)

    /// What is wrong and what helps, in one sentence.
    public var description: String {
        switch self {
        case .empty: "the time zone is empty; write a name such as America/Toronto"
        case .path(let name):
            "\(quoted(name)) is a path, not a time zone; write a name such as America/Toronto"
        case .reserved(let name, let why): "\(quoted(name)) is not a time zone: \(why)"
        case .abbreviation(let name, let example):
            "\(quoted(name)) is an abbreviation, which leaves open whose clocks are meant; "
                + "use for example \(example)"
        case .fixedOffset(let name, let zone): describe(offset: name, zone: zone)
        case .posixRule(let name):
            "\(quoted(name)) is a rule for the variable TZ, not a time zone; "
                + "write a name such as America/Toronto"
        case .area(let name, let example):
            "\(quoted(name)) is an area, not a time zone; name a place in it"
                + (example.map { ", such as \($0)" } ?? "")
        case .unknown(let name, let suggestion):
            "there is no time zone \(quoted(name))"
                + (suggestion.map { "; did you mean \($0)?" }
                    ?? "; write a name such as America/Toronto, exactly so")
        case .noDatabase(let searched):
            "this machine has no time zones (none in \(searched.joined(separator: ", "))); "
                + "install the package tzdata, or set TZDIR to a folder that holds them"
        case .unreadable(let file, let reason): "cannot read the time zone \(file): \(reason)"
        case .malformed(let file, let problem):
            "the time zone's file \(file) is damaged: \(problem); install tzdata again"
        }
    }

    private func describe(offset name: String, zone: String?) -> String {
        let start = "\(quoted(name)) is a fixed distance from UTC, not a time zone; "
        guard let zone else { return start + "write a place's name, such as America/St_Johns" }
        guard zone != "Etc/UTC" else { return start + "if clocks never change, write UTC" }
        return start + "write a place's name, or, if clocks never change, \(zone) "
            + "(its sign is the other way round)"
    }

    /// A name as a message can hold it, whatever is in it.
    private func quoted(_ name: String) -> String {
        let shown = String(name.unicodeScalars.prefix(64))
        return shown.debugDescription + (shown.count < name.count ? "…" : "")
    }
}
