import FoundationEssentials
import ErrandRecurrence
import ErrandTerminal

/// The local time zone of this user.
package enum LocalZone {
    /// The format of times for people: in the zone of TZ or of the system; UTC if neither is set.
    @Sendable package static func times(_ environment: [String: String]) -> TimeFormat {
        guard let zone = zone(environment) else { return .utc }
        let isUniversal = LocalTime(0, in: zone).isUniversal
        guard !isUniversal else { return .utc }
        return TimeFormat { time in
            // Bounded: a Date far outside the calendar must not trap.
            let second = min(max(time.timeIntervalSince1970, -62_135_596_800), 253_402_300_799)
            return zone.segment(at: Int(second.rounded(.down))).offset
        }
    }

    private static func zone(_ environment: [String: String]) -> Zone? {
        guard let name = name(environment) else { return nil }
        return try? ZoneDatabase(environment: environment).zone(named: name)
    }

    private static func name(_ environment: [String: String]) -> String? {
        if let asked = environment["TZ"], !asked.isEmpty {
            // In POSIX the name of a file begins with a colon, which many omit.
            return relative(asked.first == ":" ? String(asked.dropFirst()) : asked)
        }
        let path = "/etc/localtime"
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
        if let target, let name = relative(target) { return name }
        // Some systems have a copy at that path, and its name in another file.
        guard let data = FileManager.default.contents(atPath: "/etc/timezone") else { return nil }
        let name = String(decoding: data, as: UTF8.self).prefix { !$0.isWhitespace }
        return name.isEmpty ? nil : String(name)
    }

    /// The name of a zone by its file's path, such as /usr/share/zoneinfo/Europe/Berlin.
    private static func relative(_ path: String) -> String? {
        guard path.contains("zoneinfo/") else { return path.first == "/" ? nil : path }
        return path.part(after: "zoneinfo/")
    }
}

extension String {
    /// The part after the first occurrence of a text.
    fileprivate func part(after text: String) -> String? {
        firstRange(of: text).map { String(self[$0.upperBound...]) }
    }
}
