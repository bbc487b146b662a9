/// Decides which names may be looked for among the files of a zone database.
enum ZoneName {
    /// Those that need no file.
    static let universal: Set<String> = [
        "UTC", "Etc/UTC", "UCT", "Etc/UCT", "Universal", "Etc/Universal", "Zulu", "Etc/Zulu",
    ]

    /// Zones that only look like distances from universal time.
    private static let greenwich: Set<String> = ["GMT", "GMT0", "GMT+0", "GMT-0"]

    /// Accepts what is not known to be something else than a zone's name.
    static func check(_ name: String) throws(ZoneError) {
        guard !name.allSatisfy(\.isWhitespace) else { throw .empty }
        guard !greenwich.contains(name) else { return }
        if let example = abbreviations[name.uppercased()] {
            throw .abbreviation(name, example: example)
        }
        if let hours = fixedOffset(name) { throw .fixedOffset(name, zone: zone(hours)) }
        if isPosixRule(name) { throw .posixRule(name) }
        if let why = reserved(name) { throw .reserved(name, why: why) }
        guard !isPath(name) else { throw .path(name) }
    }

    /// Whether a name of the database's own lists is one that `check` accepts.
    static func isAcceptable(_ name: String) -> Bool {
        do {
            try check(name)
            return isSafe(name)
        } catch {
            return false
        }
    }

    /// Whether a name that `check` accepts can stand at the end of a path as it is.
    static func isSafe(_ name: String) -> Bool { name.utf8.allSatisfy(isOrdinary) }

    private static func isOrdinary(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"),
            UInt8(ascii: "+"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private static func isPath(_ name: String) -> Bool {
        name.utf8.count > 255
            || name.split(separator: "/", omittingEmptySubsequences: false).contains {
                $0.isEmpty || $0.first == "." || $0.first == "~"
            }
    }

    private static func reserved(_ name: String) -> String? {
        for folder in ["posix/", "right/"] where name.hasPrefix(folder) {
            let rest = name.dropFirst(folder.count)
            return folder == "posix/"
                ? "leave out posix/ and write \(rest)"
                : "it counts leap seconds, which the clocks here do not; write \(rest)"
        }
        return switch name {
        case "localtime": "it is whatever this machine is set to; name the zone itself"
        case "posixrules": "it is only the pattern for TZ rules without dates; name a zone"
        case "Factory": "it stands where nobody has chosen a zone yet; choose one"
        case "leapseconds", "+VERSION", "SECURITY": "it is a file that describes the others"
        default:
            name.hasSuffix(".tab") || name.hasSuffix(".zi") || name.hasSuffix(".list")
                ? "it is a table that lies beside the zones" : nil
        }
    }

    // ---- Distances from universal time ----------------------------------------------------

    /// The hours of `UTC+2`, `+02:00`, `GMT-3` and the like; not a whole number for +05:30.
    private static func fixedOffset(_ name: String) -> Double? {
        var rest = Substring(name.uppercased())
        for prefix in ["UTC", "GMT", "Z"] where rest.hasPrefix(prefix) {
            rest.removeFirst(prefix.count)
            break
        }
        let isNegative = rest.first == "-" || rest.first == "\u{2212}"
        guard rest.first == "+" || isNegative else { return nil }
        rest.removeFirst()
        let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 3,
            parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }),
            let number = Double(first)
        else { return nil }
        // 0530 is written without its colon.
        var hours = first.count > 2 ? (number / 100).rounded(.down) : number
        if first.count > 2 { hours += number.truncatingRemainder(dividingBy: 100) / 60 }
        if parts.count > 1, let minutes = Double(parts[1]) { hours += minutes / 60 }
        return isNegative ? -hours : hours
    }

    /// The zone of a distance: east is negative in these names, as in POSIX.
    private static func zone(_ hours: Double) -> String? {
        guard (-12...14).contains(hours), let whole = Int(exactly: hours) else { return nil }
        return whole == 0 ? "Etc/UTC" : "Etc/GMT\(whole > 0 ? "-" : "+")\(abs(whole))"
    }

    private static func isPosixRule(_ name: String) -> Bool {
        if name.contains(",") || name.contains("<") || name.hasPrefix(":") { return true }
        do {
            _ = try PosixRule(parsing: name)
            return true
        } catch {
            return error == .noMoments
        }
    }

    // ---- Abbreviations --------------------------------------------------------------------

    /// Some of them are files of the database, but their rules are nobody's.
    private static let abbreviations: [String: String] = [
        "EST": "America/New_York", "EDT": "America/New_York", "EST5EDT": "America/New_York",
        "CST": "America/Chicago", "CDT": "America/Chicago", "CST6CDT": "America/Chicago",
        "MST": "America/Denver", "MDT": "America/Denver", "MST7MDT": "America/Denver",
        "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
        "PST8PDT": "America/Los_Angeles", "AKST": "America/Anchorage",
        "AKDT": "America/Anchorage", "HST": "Pacific/Honolulu", "HDT": "America/Adak",
        "AST": "America/Halifax", "ADT": "America/Halifax", "NST": "America/St_Johns",
        "NDT": "America/St_Johns", "BRT": "America/Sao_Paulo", "ART": "America/Buenos_Aires",
        "WET": "Europe/Lisbon", "WEST": "Europe/Lisbon", "BST": "Europe/London",
        "CET": "Europe/Paris", "CEST": "Europe/Paris", "MET": "Europe/Berlin",
        "MEST": "Europe/Berlin", "MEZ": "Europe/Berlin", "MESZ": "Europe/Berlin",
        "EET": "Europe/Athens", "EEST": "Europe/Athens", "MSK": "Europe/Moscow",
        "WAT": "Africa/Lagos", "CAT": "Africa/Maputo", "EAT": "Africa/Nairobi",
        "SAST": "Africa/Johannesburg", "PKT": "Asia/Karachi", "IST": "Asia/Kolkata",
        "WIB": "Asia/Jakarta", "SGT": "Asia/Singapore", "HKT": "Asia/Hong_Kong",
        "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "AWST": "Australia/Perth",
        "ACST": "Australia/Adelaide", "ACDT": "Australia/Adelaide",
        "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney",
        "NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland",
    ]
}
