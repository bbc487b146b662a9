import Testing

@testable import ErrandRecurrence

@Suite struct ZoneNameTests {
    /// Enough of a database for names and suggestions; nothing depends on the installed one.
    private static func folder() throws -> BuiltFolder {
        let zone = BuiltZone.following("EST5EDT,M3.2.0,M11.1.0")
        let names = [
            "America/Toronto", "America/New_York", "America/Indiana/Knox", "Europe/Paris", "EST",
            "GMT", "GMT0", "Etc/GMT-2", "Asia/Ho_Chi_Minh", "Factory",
        ]
        let folder = try BuiltFolder(
            Dictionary(uniqueKeysWithValues: names.map { ($0, zone) }))
        var lines = ["# version 2026f", "# a comment"] + names.map { "Z \($0) -5 - EST" }
        lines += [
            "1 - x", "L America/Toronto Canada/Eastern", "L Etc/Gone Gone/Link", "Z Gone 0 - X",
        ]
        try folder.write(lines.joined(separator: "\n"), to: "tzdata.zi")
        return folder
    }

    @Test(
        "a name that is no zone's is refused for what it is",
        arguments: [
            ("", ZoneError.empty), (" ", .empty),
            ("../etc/passwd", .path("../etc/passwd")), ("/Europe/Paris", .path("/Europe/Paris")),
            ("Europe//Paris", .path("Europe//Paris")), ("Europe/Paris/", .path("Europe/Paris/")),
            ("Europe/./Paris", .path("Europe/./Paris")), ("Europe/../GMT", .path("Europe/../GMT")),
            ("~/zone", .path("~/zone")), (".", .path(".")),
            ("EST", .abbreviation("EST", example: "America/New_York")),
            ("cet", .abbreviation("cet", example: "Europe/Paris")),
            ("MST7MDT", .abbreviation("MST7MDT", example: "America/Denver")),
            ("EST5EDT", .abbreviation("EST5EDT", example: "America/New_York")),
            ("+02:00", .fixedOffset("+02:00", zone: "Etc/GMT-2")),
            ("UTC+2", .fixedOffset("UTC+2", zone: "Etc/GMT-2")),
            ("GMT-0500", .fixedOffset("GMT-0500", zone: "Etc/GMT+5")),
            ("-11", .fixedOffset("-11", zone: "Etc/GMT+11")),
            ("+05:30", .fixedOffset("+05:30", zone: nil)),
            ("+15", .fixedOffset("+15", zone: nil)),
            ("UTC-00:00", .fixedOffset("UTC-00:00", zone: "Etc/UTC")),
            ("EST5", .posixRule("EST5")), ("UTC0", .posixRule("UTC0")),
            ("EST5EDT,M3.2.0,M11.1.0", .posixRule("EST5EDT,M3.2.0,M11.1.0")),
            ("<+0330>-3:30", .posixRule("<+0330>-3:30")),
            (":Europe/Paris", .posixRule(":Europe/Paris")),
            ("America", .area("America", example: "America/Indiana/Knox")),
            ("america/toronto", .unknown("america/toronto", suggestion: "America/Toronto")),
            ("America/Torono", .unknown("America/Torono", suggestion: "America/Toronto")),
            ("America/Tornoto", .unknown("America/Tornoto", suggestion: "America/Toronto")),
            ("New York", .unknown("New York", suggestion: "America/New_York")),
            ("Toronto", .unknown("Toronto", suggestion: "America/Toronto")),
            ("canada/eastern", .unknown("canada/eastern", suggestion: "Canada/Eastern")),
            ("Europe\\Paris", .unknown("Europe\\Paris", suggestion: "Europe/Paris")),
            ("Europe/Paris\0", .unknown("Europe/Paris\0", suggestion: "Europe/Paris")),
            ("Mars/Olympus", .unknown("Mars/Olympus", suggestion: nil)),
            ("Gone", .unknown("Gone", suggestion: nil)),
            ("Gone/Link", .unknown("Gone/Link", suggestion: nil)),
        ])
    func refused(name: String, expected: ZoneError) throws {
        let database = try Self.folder()
        #expect(throws: expected) { try database.database.zone(named: name) }
    }

    @Test(
        "what lies beside the zones is no zone",
        arguments: [
            "posix/Europe/Paris", "right/Europe/Paris", "localtime", "posixrules", "Factory",
            "zone.tab", "zone1970.tab", "tzdata.zi", "leap-seconds.list", "+VERSION", "leapseconds",
        ])
    func reserved(name: String) throws {
        let folder = try Self.folder()
        let error = #expect(throws: ZoneError.self) { try folder.database.zone(named: name) }
        #expect(error?.description.hasPrefix("\"\(name)\" is not a time zone: ") == true)
    }

    @Test(
        "an IANA name is accepted, links and old names too",
        arguments: [
            "America/Toronto", "Canada/Eastern", "America/Indiana/Knox", "GMT", "GMT0", "Etc/GMT-2",
            "UTC", "Etc/UTC", "Zulu",
        ])
    func accepted(name: String) throws {
        let folder = try Self.folder()
        #expect(try folder.database.zone(named: name).name == name)
    }

    @Test func `only names that would be accepted are listed`() throws {
        let folder = try Self.folder()
        #expect(
            folder.database.names == [
                "America/Indiana/Knox", "America/New_York", "America/Toronto", "Asia/Ho_Chi_Minh",
                "Canada/Eastern", "Etc/GMT-2", "Europe/Paris", "GMT", "GMT0",
            ])
    }

    @Test func `every error has a text of its own`() {
        let errors: [ZoneError] = [
            .empty, .path("a"), .reserved("a", why: "b"), .abbreviation("a", example: "b"),
            .fixedOffset("a", zone: "b"), .fixedOffset("a", zone: nil),
            .fixedOffset("a", zone: "Etc/UTC"), .posixRule("a"), .area("a", example: "b"),
            .area("a", example: nil), .unknown("a", suggestion: "b"),
            .unknown("a", suggestion: nil), .noDatabase(searched: ["a"]),
            .unreadable(file: "a", reason: "b"), .malformed(file: "a", problem: "b"),
        ]
        #expect(Set(errors.map(\.description)).count == errors.count)
        let abbreviation = ZoneError.abbreviation("EST", example: "America/New_York").description
        #expect(abbreviation.contains("\"EST\" is an abbreviation"))
        #expect(abbreviation.contains("use for example America/New_York"))
        let unknown = ZoneError.unknown("a\n\u{1B}[31m", suggestion: "UTC").description
        #expect(unknown.unicodeScalars.allSatisfy { $0.value >= 32 })
        #expect(unknown.contains("did you mean UTC?"))
    }
}
