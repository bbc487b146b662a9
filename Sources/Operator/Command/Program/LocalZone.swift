import FoundationEssentials
import ErrandRecurrence
import ErrandTerminal

/// The zone that the clocks of this user go by.
package enum LocalZone {
    /// How people see times, by TZ or else by what the system is set to; UTC when neither tells.
    @Sendable package static func times(_ environment: [String: String]) -> TimeFormat {
        guard let zone = zone(environment) else { return .utc }
        let isUniversal = LocalTime(0, in: zone).isUniversal
        guard !isUniversal else { return .utc }
        return TimeFormat { time in
            // Far outside the calendar it makes no difference, and must not trap.
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
            // POSIX begins the name of a file with a colon; many leave it out.
            return relative(asked.first == ":" ? String(asked.dropFirst()) : asked)
        }
        let path = "/etc/localtime"
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
        if let target, let name = relative(target) { return name }
        // Some systems have a copy there, and its name beside it.
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
    /// What follows the first occurrence of a text.
    fileprivate func part(after text: String) -> String? {
        firstRange(of: text).map { String(self[$0.upperBound...]) }
    }
}
