import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Many who tell the same people at once", .database) struct RaceTests {
    /// How many of the intents that each of eight transactions makes are kept.
    private func race(
        _ ground: Ground, _ intents: @escaping @Sendable (Int) -> [Intent]
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for turn in 0..<8 {
                group.addTask {
                    try await ground.notify(all: intents(turn)).count(where: \.isKept)
                }
            }
            return try await group.reduce(0, +)
        }
    }

    private func crowd(_ ground: Ground, _ count: Int) async throws -> [Int64] {
        var people: [Int64] = []
        for _ in 0..<count {
            people.append(try await ground.person())
            try await ground.device(of: people[people.count - 1], UUID().uuidString, app: "survey")
        }
        return people
    }

    /// Each turn begins with another person, and every second goes backwards.
    private func turned(_ people: [Int64], _ turn: Int) -> [Int64] {
        let order = turn % 2 == 0 ? people : people.reversed()
        return Array(order[turn...] + order[..<turn])
    }

    @Test func `the cap holds`() async throws {
        let ground = try await Ground()
        let people = try await crowd(ground, 20)
        let kept = try await race(ground) { turn in
            turned(people, turn).map { ground.intent(TestNotices.news, $0) }
        }
        #expect(kept == 3 * people.count)
        let most = """
            SELECT max(count) FROM (SELECT count(*) FROM notification.notices
                WHERE status = 'sent' GROUP BY person_id) p
            """
        #expect(try await ground.number(most) == 3)
    }

    @Test func `of one subject each is told once`() async throws {
        let ground = try await Ground()
        let people = try await crowd(ground, 20)
        let kept = try await race(ground) { turn in
            turned(people, turn).map { ground.intent(TestNotices.near, $0, of: "coupon:1") }
        }
        #expect(kept == people.count)
        let told =
            "SELECT count(DISTINCT person_id) FROM notification.notices WHERE send_decided_at = $1"
        #expect(
            try await ground.number(told, [.timestamp(Instant(date: Ground.noon))])
                == Int64(people.count))
    }

    @Test func `of one event each is told once, without any lock on people`() async throws {
        let ground = try await Ground()
        let people = try await crowd(ground, 20)
        let kept = try await race(ground) { turn in
            turned(people, turn).map { ground.intent(TestNotices.note, $0, key: "event:\($0)") }
        }
        #expect(kept == people.count)
        #expect(try await ground.statuses().count == people.count)
    }

    @Test func `of many reminders one goes through`() async throws {
        let ground = try await Ground()
        let people = try await crowd(ground, 8)
        let sender = try await ground.person()
        let kept = try await race(ground) { turn in
            turned(people, turn).map { ground.intent(TestNotices.nudge, $0, from: sender) }
        }
        #expect(kept == people.count)
    }
}
