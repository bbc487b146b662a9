import ErrandAdministration
import ErrandCoupons
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Coupons near by, looked for in parallel", .database) struct ParallelTests {
    /// People at one place with two coupons each.
    private func crowd(_ count: Int) async throws -> (Town, [Int64]) {
        let town = try Town()
        let cafe = try await town.establishment(at: .montreal)
        var people: [Int64] = []
        for _ in 0..<count {
            let person = try await town.person()
            _ = try await town.coupon(of: person, at: cafe)
            _ = try await town.coupon(of: person, at: cafe)
            people.append(person)
        }
        return (town, people)
    }

    /// That each person was told of each of their two coupons once.
    private func expectEachOnce(_ town: Town, _ people: [Int64]) async throws {
        let notices = try await town.notices()
        #expect(notices.count == 2 * people.count)
        #expect(Set(notices.map(\.subject)).count == 2 * people.count)
        #expect(Set(notices.map(\.person)) == Set(people))
    }

    @Test func `of several transactions on the same people one tells, in any order`() async throws {
        let (town, people) = try await crowd(60)
        let made = try await withThrowingTaskGroup(of: Int.self) { group in
            for turn in 0..<8 {
                group.addTask {
                    let order = turn % 2 == 0 ? people : people.reversed()
                    let stands = (order[turn...] + order[..<turn]).map { ($0, Place.montreal) }
                    return try await town.look(stands).map(\.notices.count).reduce(0, +)
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(made == 2 * people.count)
        try await expectEachOnce(town, people)
    }

    @Test func `of several workers with the same positions one tells and mails`() async throws {
        let (town, people) = try await crowd(40)
        let database = try TestDatabase.here()
        let client = try await JobClient(pool: town.pool, redis: database.redis)
        // Without the unique key, so that one person's reports do run at the same time.
        let reports = (0..<10).flatMap { _ in
            people.map { town.report($0, .montreal, at: Date()) }
        }
        try await client.enqueue(reports)
        var kinds = JobKinds()
        CouponKinds.add(to: &kinds, notices: Town.catalogue, sealing: nil)
        let ready = kinds
        let ended = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let summary = try await TestWorker.drain(
                        ready, queues: [.init("coupons", concurrency: 4)])
                    // A person whom another process notified is not notified by this one.
                    return summary.completed + summary.cancelled
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(ended == reports.count)
        try await expectEachOnce(town, people)
        let mails = try await town.jobs(EmailDelivery.kind).map {
            try JSONDecoder().decode(
                [String: Int64].self, from: Data($0.args))["delivery_id"]
        }
        #expect(mails.count == 2 * people.count)
        let deliveries = try await town.session.query("SELECT id FROM notification.deliveries")
            .map { try $0.int64(0) }
        #expect(Set(mails) == Set(deliveries))
    }
}
