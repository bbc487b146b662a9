import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCrashTests {
    /// Coupons that many terminals redeem at once while workers and the database are killed.
    @Suite("Redeeming") struct RedeemFaultTests {
        /// One coupon after the other; a thousand for a run by hand.
        static let coupons =
            ProcessInfo.processInfo.environment["ERRAND_TEST_COUPONS"].flatMap { Int($0) } ?? 40
        static let terminals = 200
        private static let queues = "coupons,notices"

        /// What a terminal got to know in the end.
        struct Answer: Sendable {
            var terminal: Int
            var reason: String
            var confirmation: String?
        }

        @Test(.timeLimit(.minutes(10)))
        func `of 200 terminals at once one is confirmed, whatever is killed`() async throws {
            let ground = try CrashGround.here()
            try await fill(ground)
            let keys = try await ground.keys()
            var worker = try ground.worker(of: Self.queues, keys)
            try await ground.up(worker)
            let sessions = (0..<Self.terminals).map { number in
                Session(SessionSettings(ground.place.database, name: "till-\(number)"))
            }
            var (lost, crashes) = (0, 0)
            for coupon in 1...Self.coupons {
                let step = coupon * 10 % Self.coupons < 10 ? coupon * 10 / Self.coupons : 0
                let victim = worker
                async let fault: Void = fault(step, victim)
                let answers = try await race(for: coupon, sessions, ground)
                try await fault
                if step % 2 == 1 {
                    #expect(try await worker.end(within: .seconds(5)) == .killed(by: SIGKILL))
                    worker = try ground.worker(of: Self.queues, keys)
                    try await ground.up(worker)
                } else if step > 0 {
                    crashes += 1
                }
                lost += answers.count { $0.reason == "too_old" }
                try await expectOne(answers, coupon, ground)
            }
            #expect(crashes >= 4)
            for session in sessions { await session.close() }
            try await expectAllTold(ground)
            try await ground.expectCleanStop(worker)
            print(
                "redeeming: \(Self.coupons) coupons by \(Self.terminals) terminals each, server "
                    + "crashes: \(crashes), answers that came after the code had turned: \(lost)")
        }

        private func fill(_ ground: CrashGround) async throws {
            try await ground.session.script(
                """
                INSERT INTO people.people (id, birth_date, age_verified_at)
                VALUES (1, '1990-05-17', now());
                INSERT INTO establishments.establishments (id, name) VALUES (1, 'Corner Bakery');
                INSERT INTO coupons.coupons (id, person_id, establishment_id, title, expires_at)
                SELECT n, 1, 1, 'Coupon ' || n, '2099-01-01'
                FROM generate_series(1, \(Self.coupons)) AS n
                """)
        }

        /// What goes wrong at a tenth of the way: an odd one kills the worker, an even one the
        /// database's server, in the middle of the race.
        private func fault(_ step: Int, _ worker: Program) async throws {
            if step % 2 == 1 {
                worker.signal(SIGKILL)
            } else if step > 0 {
                try await CrashServers.here().crashPostgres()
            }
        }

        /// All terminals ask at once, each until it has an answer.
        private func race(
            for coupon: Int, _ sessions: [Session], _ ground: CrashGround
        ) async throws -> [Answer] {
            let end = ContinuousClock.now + .seconds(120)
            while true {
                let code = try await code(of: coupon, sessions[0], until: end)
                let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                    for (terminal, session) in sessions.enumerated() {
                        group.addTask {
                            try await redeem(
                                code, of: coupon, at: terminal, session, until: end)
                        }
                    }
                    return try await group.reduce(into: [Answer]()) { $0.append($1) }
                }
                // The server was away for longer than a code is good: the phone shows another.
                guard answers.allSatisfy({ $0.reason == "too_old" }), ContinuousClock.now < end
                else { return answers }
            }
        }

        private func code(
            of coupon: Int, _ session: Session, until end: ContinuousClock.Instant
        ) async throws -> String {
            try await asked(until: end, "coupon \(coupon) has no code") {
                let rows = try await session.query(
                    "SELECT state, payload FROM coupons.code($1, 1)", [.int64(Int64(coupon))])
                #expect(["usable", "not_ready"].contains(try rows.text(0, 0)))
                return try rows.first?.optionalText("payload")
            }
        }

        private func redeem(
            _ code: String, of coupon: Int, at terminal: Int, _ session: Session,
            until end: ContinuousClock.Instant
        ) async throws -> Answer {
            try await asked(until: end, "terminal \(terminal) has no answer") {
                let rows = try await session.query(
                    "SELECT reason, confirmation FROM coupons.redeem($1, 1, $2, $3)",
                    [.text(code), .text("till \(terminal)"), .text("coupon \(coupon)")])
                let answer = Answer(
                    terminal: terminal, reason: try rows.text(0, 0),
                    confirmation: try rows.first?.optionalText("confirmation"))
                return answer.reason == "not_ready" ? nil : answer
            }
        }

        private func expectOne(
            _ answers: [Answer], _ coupon: Int, _ ground: CrashGround
        ) async throws {
            let winners = answers.filter { $0.confirmation != nil }
            #expect(winners.count == 1, "coupon \(coupon)")
            #expect(winners.allSatisfy { $0.reason == "ok" })
            let others = Set(answers.filter { $0.confirmation == nil }.map(\.reason))
            #expect(others.isSubset(of: ["redeemed", "too_old"]), "coupon \(coupon): \(others)")
            let row = try await ground.session.query(
                "SELECT terminal, confirmation FROM coupons.redemptions WHERE coupon_id = $1",
                [.int64(Int64(coupon))])
            #expect(try row.text(0, 0) == "till \(winners.first?.terminal ?? -1)")
            #expect(try row.text(0, 1) == winners.first?.confirmation)
        }

        /// Each redemption is confirmed to its person, once.
        private func expectAllTold(_ ground: CrashGround) async throws {
            try await eventually("all are told", within: .seconds(60)) {
                try await ground.number(
                    "SELECT count(*) FROM errand.jobs WHERE kind = 'coupons.redeemed'") == 0
            }
            let told = try await ground.session.query(
                """
                SELECT count(*), count(DISTINCT subject) FROM notification.notices
                WHERE kind = 'coupon.redeemed'
                """)
            #expect(try told.int64(0, 0) == Int64(Self.coupons))
            #expect(try told.int64(0, 1) == Int64(Self.coupons))
        }
    }
}
