import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

@Suite("Lane cursor") struct LaneCursorTests {
    private func place(_ at: Int64, _ id: Int64 = 1) -> LanePlace {
        LanePlace(at: Instant(microseconds: at), id: id)
    }

    @Test func `places are in the order of their times, then of their ids`() {
        let places = [
            LanePlace.start, place(-5, 9), place(0, .min), place(0, 1), place(0, 2), place(1, 0),
            LanePlace(at: .infinity, id: 0),
        ]
        #expect(places.shuffled().sorted() == places)
        #expect(!(place(1, 1) < place(1, 1)))
        #expect(LanePlace.start < place(.min + 1, .min))
    }

    @Test func `a fresh cursor has read nothing and is not behind`() {
        let cursor = LaneCursor()
        #expect(cursor.read == .start)
        #expect(cursor.living == .start)
        #expect(!cursor.isBehind)
    }

    @Test func `a reading moves it on, and a full one leaves it behind`() {
        var cursor = LaneCursor()
        cursor.advanced(to: place(10, 3), wasFull: true, horizon: .negativeInfinity)
        #expect(cursor.read == place(10, 3))
        #expect(cursor.isBehind)
        cursor.advanced(to: place(10, 4), wasFull: false, horizon: .negativeInfinity)
        #expect(cursor.read == place(10, 4))
        #expect(!cursor.isBehind)
        #expect(cursor.living == .start)
    }

    @Test func `an empty reading leaves it where it is, behind no more`() {
        var cursor = LaneCursor()
        cursor.advanced(to: place(10), wasFull: true, horizon: .negativeInfinity)
        cursor.advanced(to: nil, wasFull: false, horizon: .negativeInfinity)
        #expect(cursor.read == place(10))
        #expect(!cursor.isBehind)
    }

    @Test func `a reading passes the entries before the horizon, if it was not full`() {
        var cursor = LaneCursor()
        cursor.advanced(to: nil, wasFull: false, horizon: Instant(microseconds: 90))
        #expect(cursor.read == place(90, 0))
        cursor.advanced(to: place(95), wasFull: true, horizon: Instant(microseconds: 99))
        #expect(cursor.read == place(95), "unread rows may lie between")
    }

    @Test func `it never goes back`() {
        var cursor = LaneCursor()
        cursor.advanced(to: place(10, 3), wasFull: false, horizon: .negativeInfinity)
        cursor.advanced(to: place(10, 2), wasFull: false, horizon: .negativeInfinity)
        cursor.advanced(to: place(9, 7), wasFull: false, horizon: .negativeInfinity)
        #expect(cursor.read == place(10, 3))
    }

    @Test func `a sweep brings the living up to the first row that waits`() {
        var cursor = LaneCursor()
        cursor.advanced(to: place(100), wasFull: true, horizon: .negativeInfinity)
        cursor.swept(first: place(40, 7), horizon: Instant(microseconds: 90))
        #expect(cursor.living == place(40, 7))
        #expect(cursor.read == place(100))
        #expect(cursor.isBehind, "a sweep reads no new rows")
    }

    @Test func `a sweep that finds none brings them up to what was read`() {
        var cursor = LaneCursor()
        cursor.advanced(to: place(50, 8), wasFull: false, horizon: .negativeInfinity)
        cursor.swept(first: nil, horizon: Instant(microseconds: 90))
        #expect(cursor.living == place(50, 8))
    }

    @Test func `where rows may newly appear, none is taken for dead`() {
        var cursor = LaneCursor()
        cursor.advanced(to: place(100), wasFull: false, horizon: .negativeInfinity)
        cursor.swept(first: nil, horizon: Instant(microseconds: 60))
        #expect(cursor.living == place(60, 0))
        cursor.swept(first: place(80), horizon: Instant(microseconds: 70))
        #expect(cursor.living == place(70, 0))
    }

    @Test func `a row that is due exactly at the horizon stays among the living`() {
        var cursor = LaneCursor()
        cursor.advanced(to: place(100), wasFull: false, horizon: .negativeInfinity)
        cursor.swept(first: nil, horizon: Instant(microseconds: 60))
        #expect(cursor.living < place(60, 1))
    }

    @Test func `the living never begin earlier than they were known to`() {
        var cursor = LaneCursor()
        cursor.advanced(to: place(100), wasFull: false, horizon: .negativeInfinity)
        cursor.swept(first: place(50), horizon: Instant(microseconds: 90))
        cursor.swept(first: place(30), horizon: Instant(microseconds: 90))
        #expect(cursor.living == place(50))
        cursor.swept(first: nil, horizon: Instant(microseconds: 20))
        #expect(cursor.living == place(50))
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `over random readings and sweeps no waiting row is passed over`(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        var cursor = LaneCursor()
        var waiting: [LanePlace] = []
        var unread: Set<Int64> = []
        var clock: Int64 = 0
        var horizon = Instant.negativeInfinity
        for id in 1...2_000 as ClosedRange<Int64> {
            clock += random.number(0..<3)
            switch random.number(0..<5) {
            case 0, 1:
                waiting.append(place(clock, id))
                unread.insert(id)
            case 2:
                let limit = 1 + random.number(0..<4)
                let due = waiting.filter { $0 > cursor.read }.sorted().prefix(limit)
                unread.subtract(due.map(\.id))
                cursor.advanced(to: due.last, wasFull: due.count == limit, horizon: horizon)
            case 3:
                // Rows are finished in any order.
                if !waiting.isEmpty { waiting.remove(at: random.number(0..<waiting.count)) }
            default:
                let known = waiting.filter { $0 >= cursor.living && $0 <= cursor.read }
                horizon = Instant(microseconds: clock)
                cursor.swept(first: known.min(), horizon: horizon)
            }
            #expect(waiting.allSatisfy { $0 >= cursor.living }, "seed \(seed), step \(id)")
            #expect(
                waiting.allSatisfy { $0 > cursor.read || !unread.contains($0.id) },
                "seed \(seed), step \(id)")
        }
        #expect(cursor.living > .start)
    }
}
