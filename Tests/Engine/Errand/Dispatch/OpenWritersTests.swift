import ErrandPostgres
import Testing

@testable import Errand

@Suite("Open writers") struct OpenWritersTests {
    private func at(_ milliseconds: Int64) -> Instant {
        Instant(microseconds: milliseconds * 1_000)
    }

    private func snapshot(_ text: String) throws -> Snapshot { try #require(Snapshot(text)) }

    @Test func `a snapshot is read from its text`() throws {
        let some = try snapshot("10:20:12,15")
        #expect(some.xmin == 10)
        #expect(some.xmax == 20)
        #expect(some.open == [12, 15])
        #expect(try snapshot("7:7:").open == [])
        for text in ["", "7", "7:8", "a:8:", "7:8:9:10"] { #expect(Snapshot(text) == nil) }
    }

    @Test func `what ended since the last reading counts from before it was seen`() throws {
        var writers = OpenWriters()
        #expect(writers.start == nil)
        #expect(try writers.read(snapshot("5:5:"), at: at(1_000)) == nil)
        #expect(try writers.read(snapshot("5:6:5"), at: at(1_100)) == nil)
        #expect(writers.start == at(1_000 - 15))
        // It was open at 1,100 and may have begun after 1,000.
        #expect(try writers.read(snapshot("6:6:"), at: at(1_200)) == at(1_000 - 15))
        #expect(try writers.read(snapshot("6:6:"), at: at(1_300)) == nil)
    }

    @Test func `of several the earliest counts, and those still open do not`() throws {
        var writers = OpenWriters()
        _ = try writers.read(snapshot("5:5:"), at: at(0))
        _ = try writers.read(snapshot("5:6:5"), at: at(100))
        _ = try writers.read(snapshot("5:8:5,7"), at: at(200))
        #expect(try writers.read(snapshot("5:9:5"), at: at(300)) == at(100 - 15))
        #expect(try writers.read(snapshot("9:9:"), at: at(400)) == at(-15))
    }

    @Test func `one that was open at the first reading may have begun at any time`() throws {
        var writers = OpenWriters()
        _ = try writers.read(snapshot("5:6:5"), at: at(100))
        #expect(try writers.read(snapshot("6:6:"), at: at(200)) == .negativeInfinity)
    }
}
