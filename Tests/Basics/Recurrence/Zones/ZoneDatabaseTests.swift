import Foundation
import Testing

@testable import ErrandRecurrence

@Suite struct ZoneDatabaseTests {
    private static let noon = utc("2026-12-01T12:00Z")

    @Test(
        "the zones of release 2026f have their known offsets on 2026-12-01",
        arguments: [
            ("MST7", -25_200), ("CST6", -21_600), ("EST5", -18_000), ("WAT-1", 3600),
            ("EST5EDT,M3.2.0,M11.1.0", -18_000), ("NST3:30NDT,M3.2.0,M11.1.0", -12_600),
        ])
    func release2026f(footer: String, offset: Int) throws {
        // As in Vancouver: the last change of the clocks is that of March 2026.
        let zone = BuiltZone(
            offsets: [offset - 3600, offset], transitions: [(utc("2026-03-08T10:00Z"), 1)],
            footer: footer)
        let folder = try BuiltFolder(["Area/Place": zone.bytes])
        #expect(try folder.database.zone(named: "Area/Place").offset(at: Self.noon) == offset)
    }

    @Test func `a zone at the old offset of Vancouver is found, and the new one is not`() throws {
        let folder = try BuiltFolder([
            "America/Vancouver": BuiltZone.following("PST8PDT,M3.2.0,M11.1.0")
        ])
        try folder.write("# version 2025b\n", to: "tzdata.zi")
        let database = folder.database
        let finding = try #require(database.finding)
        #expect(finding.contains("2025b") && finding.contains("-08:00 instead of -07:00"))
        try folder.write(BuiltZone.following("MST7"), to: "America/Vancouver")
        #expect(database.finding != nil)
        #expect(database.refresh())
        #expect(database.finding == nil)
        let mistaken = ZoneDatabase(environment: ["TZDIR": "/nowhere"], usual: [folder.path])
        #expect(mistaken.finding?.contains("TZDIR is /nowhere") == true)
        let empty = try BuiltFolder()
        #expect(empty.database.finding?.contains("America/Vancouver") == true)
    }

    @Test func `without zones there is still UTC, and an error that says what to install`() throws {
        let empty = try BuiltFolder()
        let database = ZoneDatabase(environment: ["TZDIR": "/nowhere"], usual: [empty.path])
        let error = ZoneError.noDatabase(searched: ["/nowhere", empty.path])
        #expect(throws: error) { try database.zone(named: "Europe/Paris") }
        #expect(error.description.contains("install the package tzdata, or set TZDIR"))
        #expect(try database.zone(named: "UTC").segment(at: 0) == Zone.utc.segment(at: 0))
        #expect(try database.zone(named: "Etc/UTC").offset(at: Self.noon) == 0)
        #expect(database.names.isEmpty && database.folder == nil && database.version == "none")
        #expect(database.finding == error.description)
        #expect(!database.refresh())
        // It is found once it is there.
        try empty.write(BuiltZone.following("CET-1"), to: "Europe/Paris")
        try empty.write("FR\t+4852+00220\tEurope/Paris\n", to: "zone.tab")
        #expect(try database.zone(named: "Europe/Paris").offset(at: 0) == 3600)
        #expect(database.names.contains("Europe/Paris") && database.folder == empty.path)
    }

    @Test func `TZDIR goes before the usual folders, unless it is empty`() throws {
        let chosen = try BuiltFolder(["Area/Place": BuiltZone.following("AAA1")])
        let usual = try BuiltFolder(["Area/Place": BuiltZone.following("AAA2"), "zone.tab": []])
        func offset(_ value: String) throws -> Int {
            try ZoneDatabase(environment: ["TZDIR": value], usual: [usual.path])
                .zone(named: "Area/Place").offset(at: 0)
        }
        #expect(try offset(chosen.path) == -3600)
        #expect(try offset("") == -7200)
        #expect(try offset("/nowhere") == -7200)
    }

    @Test func `the version is that of the first file that tells it`() throws {
        let folder = try BuiltFolder(["Etc/UTC": BuiltZone.following("UTC0")])
        let old = Date(timeIntervalSince1970: 1_780_000_000)
        for name in ["Etc/UTC", ""] {
            try FileManager.default.setAttributes(
                [.modificationDate: old], ofItemAtPath: folder.path + "/" + name)
        }
        #expect(folder.database.version == "unknown (as of 2026-05-28)")
        try folder.write("2026e\n", to: "+VERSION")
        #expect(folder.database.version == "2026e")
        try folder.write("no version here\n", to: "tzdata.zi")
        #expect(folder.database.version == "2026e")
        try folder.write("# version 2026f\nZ Etc/UTC 0 - UTC\n", to: "tzdata.zi")
        #expect(folder.database.version == "2026f")
    }

    @Test func `an update on disk is noticed by what was replaced`() throws {
        let folder = try BuiltFolder([
            "Area/A": BuiltZone.following("AAA1"), "Area/B": BuiltZone.following("AAA1"),
        ])
        try folder.write("# version 2026e\nZ Area/A 1\nZ Area/B 1\n", to: "tzdata.zi")
        let database = folder.database
        func offset(_ name: String) throws -> Int { try database.zone(named: name).offset(at: 0) }
        #expect(try offset("Area/A") == -3600)
        #expect(database.version == "2026e")
        #expect(!database.refresh())

        // A file that nobody has read is not looked at, and one in use is.
        try folder.write(BuiltZone.following("AAA2"), to: "Area/B")
        #expect(!database.refresh())
        try folder.write(BuiltZone.following("AAA2"), to: "Area/A")
        #expect(try offset("Area/A") == -3600)
        #expect(database.refresh())
        #expect(try offset("Area/A") == -7200)
        #expect(!database.refresh())

        // Of the same length as before.
        #expect(database.version == "2026e")
        try folder.write("# version 2026f\nZ Area/A 1\nZ Area/B 1\n", to: "tzdata.zi")
        #expect(database.version == "2026e")
        #expect(database.refresh())
        #expect(database.version == "2026f")
        #expect(try offset("Area/B") == -7200)

        // What is in memory outlives the files.
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(!database.refresh())
        #expect(try offset("Area/B") == -7200)
        #expect(throws: ZoneError.self) { try offset("Area/A") }
    }

    @Test func `the names come from the first list that there is`() throws {
        let folder = try BuiltFolder([
            "Area/A": BuiltZone.following("AAA1"), "posix/Area/A": BuiltZone.following("AAA1"),
            "UTC": BuiltZone.following("UTC0"),
        ])
        #expect(folder.database.names == ["Area/A", "UTC"])
        try folder.write("XX\t+0+0\tArea/A\tcomment\n# no\nXX\t+0+0\tArea/Gone\n", to: "zone.tab")
        #expect(Set(folder.database.names) == ZoneName.universal.union(["Area/A"]))
        try folder.write("Z Area/A 1 - A\n1 - A\nL Area/A Area/Link\n", to: "tzdata.zi")
        #expect(folder.database.names == ["Area/A", "Area/Link"])
        #expect(try folder.database.zone(named: "Area/Link").offset(at: 0) == -3600)
    }

    @Test func `a file that is no zone is named in the error`() throws {
        let folder = try BuiltFolder(["Area/Text": Array("hello".utf8)])
        #expect(
            throws: ZoneError.malformed(
                file: "\(folder.path)/Area/Text", problem: ZoneFileProblem.notTZif.description)
        ) { try folder.database.zone(named: "Area/Text") }
        let made = unsafe mkfifo(folder.path + "/Area/Pipe", 0o600)
        #expect(made == 0)
        let error = #expect(throws: ZoneError.self) {
            try folder.database.zone(named: "Area/Pipe")
        }
        #expect(error?.description.contains("it is not a plain file") == true)
    }

    @Test func `many tasks may ask and refresh at once`() async throws {
        let folder = try BuiltFolder(["Area/A": BuiltZone.following("AAA1"), "zone.tab": []])
        let database = folder.database
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<200).allSatisfy { round in
                        if round % 10 == 0 { database.refresh() }
                        return (try? database.zone(named: "Area/A").offset(at: round)) == -3600
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
