import Foundation

@testable import ErrandRecurrence

/// A compiled zone that a test writes, right or wrong.
struct BuiltZone {
    /// `0` for a file of version 1.
    var version = "2"
    var offsets = [0]
    var transitions: [(time: Int, type: Int)] = []
    var footer = ""
    var leapSeconds = 0
    /// Overrides what stands in the header: type count by its place 4, and so on.
    var counts: [Int: Int] = [:]
    var indicators = 0

    /// A zone with no transitions but those of its footer.
    static func following(_ footer: String) -> [UInt8] { BuiltZone(footer: footer).bytes }

    var bytes: [UInt8] {
        guard version != "0" else { return block(timeSize: 4) }
        var first = BuiltZone()
        first.version = version
        return first.block(timeSize: 4) + block(timeSize: 8) + Array("\n\(footer)\n".utf8)
    }

    private func block(timeSize: Int) -> [UInt8] {
        var bytes = Array("TZif".utf8)
        bytes.append(version == "0" ? 0 : Array(version.utf8)[0])
        bytes += [UInt8](repeating: 0, count: 15)
        let real = [indicators, indicators, leapSeconds, transitions.count, offsets.count, 4]
        for (place, count) in real.enumerated() {
            bytes += Self.bigEndian(counts[place] ?? count, size: 4)
        }
        for transition in transitions {
            bytes += Self.bigEndian(transition.time, size: timeSize)
        }
        bytes += transitions.map { UInt8($0.type) }
        for offset in offsets { bytes += Self.bigEndian(offset, size: 4) + [0, 0] }
        bytes += Array("AAA\0".utf8)
        bytes += [UInt8](repeating: 0, count: leapSeconds * (timeSize + 4) + 2 * indicators)
        return bytes
    }

    private static func bigEndian(_ number: Int, size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - $0))) }
    }
}

/// A folder of zones that goes when the test ends.
final class BuiltFolder {
    let path: String

    init(_ files: [String: [UInt8]] = [:]) throws {
        path =
            FileManager.default.temporaryDirectory
            .appending(path: "errand-zones-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        for (name, bytes) in files { try write(bytes, to: name) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ bytes: [UInt8], to name: String) throws {
        let file = URL(filePath: path).appending(path: name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file, options: .atomic)
    }

    func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: path + "/" + name)
    }

    /// A database that reads this folder alone.
    var database: ZoneDatabase { ZoneDatabase(environment: ["TZDIR": path], usual: []) }
}

extension Zone {
    /// A zone of a file's bytes.
    init(_ bytes: [UInt8]) throws {
        self.init(name: "Test/Zone", table: try ZoneFile.table(of: bytes))
    }

    /// A zone that follows a TZ string for all time.
    init(following footer: String) throws { try self.init(BuiltZone.following(footer)) }

    func offset(at second: Int) -> Int { segment(at: second).offset }

    /// All segments that begin in a range of time, by walking from one to the next.
    func segments(from first: Int, to last: Int) -> [ZoneSegment] {
        var found = [segment(at: first)]
        while let end = found.last?.end, end < last { found.append(segment(at: end)) }
        return found
    }
}

/// Seconds since 1970 of a moment in UTC, written as `2026-12-01T12:00Z`.
func utc(_ text: String) -> Int {
    var style = Date.ISO8601FormatStyle()
    style.timeZone = .gmt
    let full = text.replacing("Z", with: ":00Z")
    guard let date = try? Date(full, strategy: style) else { return .min }
    return Int(date.timeIntervalSince1970)
}
