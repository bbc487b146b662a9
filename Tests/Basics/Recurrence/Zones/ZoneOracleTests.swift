import Foundation
import ErrandTestServices
import Testing

@testable import ErrandRecurrence

/// Our reader beside Python's, on the same files.
@Suite struct ZoneOracleTests {
    private static let first = utc("1900-01-01T00:00Z")
    private static let end = utc("2200-01-01T00:00Z")

    @Test func `every zone of this machine is what Python says it is`() async throws {
        let database = ZoneDatabase()
        let folder = try #require(database.folder)
        let names = database.names
        #expect(names.count > 400)
        try await compare(names, of: database, in: folder, random: 500)
    }

    @Test func `every form of footer is what Python says it is`() async throws {
        var random = Xorshift(state: .random(in: 1 ... .max))
        let seed = random.state
        let folder = try BuiltFolder()
        for number in 0..<300 {
            let footer = Self.footer(using: &random)
            try folder.write(
                BuiltZone(version: "3", footer: footer).bytes, to: "Area/Zone\(number)")
        }
        try folder.write(BuiltZone.following("XXX3EDT4,0/0,J365/23"), to: "Area/AllYear")
        let database = folder.database
        #expect(database.names.count == 301, "seed \(seed)")
        try await compare(database.names, of: database, in: folder.path, random: 300)
    }

    /// A footer whose changes lie far enough from the new year, and from each other, for Python.
    ///
    /// It looks at each year of UTC on its own. Days without a letter are left out, as is J59:
    /// Python 3.11 has them a day off, unlike POSIX and the C library.
    private static func footer(using random: inout Xorshift) -> String {
        func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }
        func time() -> String {
            let text = "\(number(-167...167))"
            return Bool.random(using: &random) ? text : "\(text):\(number(10...59))"
        }
        func day(_ months: ClosedRange<Int>) -> String {
            Bool.random(using: &random)
                ? "M\(number(months)).\(number(1...5)).\(number(0...6))"
                : "J\(number(months) * 30 - number(2...20))"
        }
        let offset = number(-14...12)
        let moments = ["\(day(2...5))/\(time())", "\(day(7...10))/\(time())"]
        let isSouthern = Bool.random(using: &random)
        return
            "<+AB>\(offset):\(number(10...59))<-12>\(offset + number(-2...2)):\(number(10...59)),"
            + (isSouthern ? moments.reversed() : moments).joined(separator: ",")
    }

    private func compare(
        _ names: [String], of database: ZoneDatabase, in folder: String, random: Int
    ) async throws {
        let seed = Int.random(in: 0...999_999)
        var zones: [String: Zone] = [:]
        var questions = ""
        for name in names {
            let zone = try database.zone(named: name)
            zones[name] = zone
            questions += name
            for segment in zone.segments(from: Self.first, to: Self.end)
            where segment.start > .min {
                questions += " \(segment.start - 1) \(segment.start) \(segment.start + 1)"
            }
            questions += "\n"
        }
        let answer = try await ask(questions, folder: folder, seed: seed, random: random)
        var answered = 0
        var name = ""
        var wrong = 0
        for line in answer.split(separator: UInt8(ascii: "\n")) {
            guard let gap = line.firstIndex(of: UInt8(ascii: " ")) else {
                name = String(decoding: line, as: UTF8.self)
                answered += 1
                continue
            }
            let second = Self.number(line[..<gap])
            let expected = Self.number(line[(gap + 1)...])
            let offset = zones[name]?.offset(at: second)
            guard offset != expected, wrong < 20 else { continue }
            wrong += 1
            Issue.record("\(name) at \(second): \(offset ?? 0), not \(expected); seed \(seed)")
        }
        #expect(answered == names.count)
    }

    /// The standard library's own reading of numbers is slow where millions are read.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
        let isNegative = digits.first == UInt8(ascii: "-")
        var value = 0
        for digit in digits.dropFirst(isNegative ? 1 : 0) { value = value * 10 + Int(digit) - 48 }
        return isNegative ? -value : value
    }

    private func ask(
        _ questions: String, folder: String, seed: Int, random: Int
    ) async throws -> [UInt8] {
        let oracle = Checkout.simulators.appending(path: "oracles/zone_oracle.py").path
        let program = try Program(
            "/usr/bin/env", ["python3", oracle, folder, "\(seed)", "\(random)"],
            environment: ["PYTHONTZPATH": folder], input: questions)
        #expect(try await program.end(within: .seconds(300)) == .exited(0))
        return Array(program.output.utf8)
    }
}
