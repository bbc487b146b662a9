import ErrandJSONText

/// The content of a contexts.json:
/// `{"current": "staging", "contexts": {"staging": {"database_url": "…", "production": true}}}`.
///
/// Unknown settings are refused with their line: a silently ignored one could be a misspelled
/// `production`.
package struct ContextFile: Equatable, Sendable {
    /// An error in the text.
    package struct Flaw: Error, Equatable {
        package var line: Int
        /// The message, with the expected value.
        package var message: String
    }

    private static let members = ["current", "contexts"]
    private static let settings = [
        "database_url", "redis_url", "operator", "production", "read_only", "color",
    ]

    /// The default context.
    package private(set) var current: String?
    /// The contexts, in the order of the file.
    package private(set) var contexts: [NamedContext] = []

    package subscript(_ name: String) -> NamedContext? { contexts.first { $0.name == name } }

    /// Parses a text.
    package init(_ text: String) throws(Flaw) {
        let place = Place(bytes: Array(text.utf8))
        for member in try place.members(of: place.bytes[...], Self.members) {
            if member.name == "current" {
                current = try place.text(member)
            } else {
                for context in try place.members(of: member.value) {
                    contexts.append(try Self.context(context, at: place))
                }
            }
        }
        if let current, self[current] == nil {
            let member = try place.members(of: place.bytes[...]).last { $0.name == "current" }
            throw place.flaw(
                member,
                "\"current\": there is no context \"\(current)\"; contexts: "
                    + (contexts.isEmpty ? "none" : contexts.map(\.name).joined(separator: ", ")))
        }
    }

    private static func context(
        _ member: JSONScanner.Member, at place: Place
    ) throws(Flaw) -> NamedContext {
        guard isName(member.name) else {
            throw place.flaw(
                member,
                "\"\(member.name)\": expected a name of letters, digits, dashes and underscores")
        }
        var context = NamedContext(member.name)
        for setting in try place.members(of: member.value, settings) {
            switch setting.name {
            case "database_url": context.databaseURL = try place.text(setting)
            case "redis_url": context.redisURL = try place.text(setting)
            case "operator": context.operatorName = try place.text(setting)
            case "production": context.isProduction = try place.flag(setting)
            case "read_only": context.isReadOnly = try place.flag(setting)
            default:
                guard let color = ColorChoice(rawValue: try place.text(setting)) else {
                    throw place.flaw(
                        setting, "\"color\": expected \"auto\", \"always\" or \"never\"")
                }
                context.color = color
            }
        }
        return context
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.allSatisfy { character in
                character.isASCII
                    && (character.isLetter || character.isNumber || "_-".contains(character))
            }
    }

    /// The text with another current context, otherwise unchanged.
    ///
    /// - Parameter text: a valid text.
    package static func text(_ text: String, withCurrent name: String) -> String {
        let bytes = Array(text.utf8)
        let setting = JSONValue.text(name).serialized
        let members = (try? JSONScanner.members(of: bytes[...])) ?? []
        let result: [UInt8]
        if let old = members.first(where: { $0.name == "current" })?.value {
            result = bytes[..<old.startIndex] + setting + bytes[old.endIndex...]
        } else {
            let inside = bytes.prefix { $0 != UInt8(ascii: "{") }.count + 1
            let blank = bytes[inside...].prefix { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
            result =
                bytes[..<inside] + blank + Array("\"current\": ".utf8) + setting
                + Array((members.isEmpty ? "" : blank.isEmpty ? ", " : ",").utf8)
                + bytes[inside...]
        }
        return String(decoding: result, as: UTF8.self)
    }
}

/// The text of a file, for errors with line numbers.
private struct Place {
    typealias Flaw = ContextFile.Flaw

    let bytes: [UInt8]

    /// The members of an object: without duplicates, and only the known names if given.
    func members(
        of value: ArraySlice<UInt8>, _ known: [String]? = nil
    ) throws(Flaw) -> [JSONScanner.Member] {
        let members: [JSONScanner.Member]
        do throws(JSONSyntaxError) { members = try JSONScanner.members(of: value) } catch {
            let at = min(value.startIndex + error.column - 1, bytes.count)
            let column = at - (bytes[..<at].lastIndex(of: 0x0A) ?? -1)
            throw Flaw(line: line(at), message: "column \(column): \(error.problem)")
        }
        var seen: Set<String> = []
        for member in members {
            if let known, !known.contains(member.name) {
                let near = nearest(to: member.name, among: known)
                    .map { "; did you mean \"\($0)\"?" }
                throw flaw(
                    member,
                    "\"\(member.name)\" is unknown: expected \(known.joined(separator: ", "))"
                        + (near ?? ""))
            }
            guard seen.insert(member.name).inserted else {
                throw flaw(member, "\"\(member.name)\" is set twice")
            }
        }
        return members
    }

    func text(_ member: JSONScanner.Member) throws(Flaw) -> String {
        guard let text = JSONScanner.text(member.value), !text.isEmpty else {
            throw flaw(member, "\"\(member.name)\": expected a non-empty string")
        }
        return text
    }

    func flag(_ member: JSONScanner.Member) throws(Flaw) -> Bool {
        switch String(decoding: member.value, as: UTF8.self) {
        case "true": return true
        case "false": return false
        default: throw flaw(member, "\"\(member.name)\": expected true or false")
        }
    }

    func flaw(_ member: JSONScanner.Member?, _ message: String) -> Flaw {
        Flaw(line: line(member?.value.startIndex ?? 0), message: message)
    }

    private func line(_ at: Int) -> Int { bytes[..<at].count { $0 == 0x0A } + 1 }
}
