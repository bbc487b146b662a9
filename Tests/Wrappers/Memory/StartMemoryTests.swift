import ErrandMemory
import FoundationEssentials
import Testing

@Suite("Memory of the start", .serialized) struct StartMemoryTests {
    /// Pages of files that are mapped into this process, in KiB.
    private static func resident() throws -> Int {
        let data = try #require(FileManager.default.contents(atPath: "/proc/self/status"))
        let line = try #require(
            String(decoding: data, as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix("RssFile:") })
        return try #require(Int(line.split(whereSeparator: { $0 == " " || $0 == "\t" })[1]))
    }

    @Test func `less is mapped afterwards, and all of it still works`() throws {
        let before = try Self.resident()
        StartMemory().release()
        // Most of it: not only the program, but its libraries too.
        #expect(try Self.resident() < before * 2 / 3)
        // Code that was mapped, and is mapped again.
        let text = String(repeating: "é", count: 10_000)
        #expect(
            try JSONDecoder().decode([String].self, from: JSONEncoder().encode([text])) == [text])
    }

    @Test func `constants are what they were`() {
        let constant: StaticString = "what stands in the program's file"
        let before = constant.description
        StartMemory().release()
        #expect(constant.description == before)
    }

    @Test func `a task that is cancelled gives nothing back, and ends`() async {
        let task = Task { await StartMemory().release(after: .seconds(3_600)) }
        task.cancel()
        await task.value
    }
}
