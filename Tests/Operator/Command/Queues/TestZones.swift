import Foundation

/// A folder of time zones like that of a machine which is kept up to date, whatever this one has.
///
/// It leads to this machine's zones, except for the one by which the doctor tells old data.
enum TestZones {
    static let folder: String? = try? make()

    private static func make() throws -> String {
        let files = FileManager.default
        let system = "/usr/share/zoneinfo"
        let folder = files.temporaryDirectory.appending(path: "errand-zones-\(UUID().uuidString)")
        let america = folder.appending(path: "America")
        try files.createDirectory(at: america, withIntermediateDirectories: true)
        for name in try files.contentsOfDirectory(atPath: system)
        where name != "America" && name != "tzdata.zi" {
            try files.createSymbolicLink(
                atPath: folder.appending(path: name).path, withDestinationPath: "\(system)/\(name)")
        }
        for name in try files.contentsOfDirectory(atPath: "\(system)/America")
        where name != "Vancouver" {
            try files.createSymbolicLink(
                atPath: america.appending(path: name).path,
                withDestinationPath: "\(system)/America/\(name)")
        }
        // Its clocks are at -07:00 all the year, as those of Vancouver are since 2026.
        try files.createSymbolicLink(
            atPath: america.appending(path: "Vancouver").path,
            withDestinationPath: "\(system)/America/Phoenix")
        let source = try String(contentsOfFile: "\(system)/tzdata.zi", encoding: .utf8)
        let rest = source.split(separator: "\n", maxSplits: 1).last ?? ""
        try "# version 2026z\n\(rest)".write(
            to: folder.appending(path: "tzdata.zi"), atomically: true, encoding: .utf8)
        return folder.path
    }

    /// A folder in which the clocks of Vancouver are still set back each winter.
    static func outdated() throws -> String {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: "errand-zones-\(UUID().uuidString)")
        let america = folder.appending(path: "America")
        try files.createDirectory(at: america, withIntermediateDirectories: true)
        try files.createSymbolicLink(
            atPath: america.appending(path: "Vancouver").path,
            withDestinationPath: "/usr/share/zoneinfo/America/Los_Angeles")
        try "# version 2024a\n".write(
            to: folder.appending(path: "tzdata.zi"), atomically: true, encoding: .utf8)
        return folder.path
    }
}
