import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Deliveries side by side", .database) struct SideBySideTests {
    /// Answers by the token of the device.
    private struct ByToken: Channel {
        var answer: @Sendable (String) async throws -> DeliveryVerdict

        func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict {
            guard case .device(let token, _, _) = outgoing.address else {
                return .rejected(reason: "no device")
            }
            do { return try await answer(token) } catch { return .rejected(reason: "\(error)") }
        }
    }

    /// Devices, each of somebody else, with a notice on its way to it.
    private func devices(_ tokens: String...) async throws -> Ground {
        let ground = try await Ground()
        for token in tokens {
            let person = try await ground.person()
            try await ground.device(of: person, token, app: "survey", platform: "apns")
            try await ground.notify(ground.intent(TestNotices.near, person), now: Date())
        }
        return ground
    }

    @Test func `those that are quick end while a slow one is on its way`() async throws {
        let ground = try await devices("slow", "quick", "quick-too")
        let ended = """
            SELECT count(*) FROM errand.finished_jobs
            WHERE kind = 'notification.push' AND outcome = 'completed'
            """
        let channel = ByToken { token in
            guard token == "slow" else { return .delivered(reply: "ok") }
            try await eventually("the others have ended") { try await ground.number(ended) == 2 }
            return .delivered(reply: "at last")
        }
        try await ground.deliver([Provider.apns: channel])
        #expect(
            try await ground.answers()
                == ["sent delivered 1 at last", "sent delivered 1 ok", "sent delivered 1 ok"])
    }

    @Test func `an answer that cannot be written does not keep others from it`() async throws {
        let ground = try await devices("good", "bad", "good-too")
        let channel = ByToken { token in
            .delivered(reply: token == "bad" ? "PostgreSQL takes no \0" : "ok")
        }
        try await ground.deliver([Provider.apns: channel])
        #expect(
            try await ground.answers()
                == ["sent delivered 1 ok", "pending pending 0", "sent delivered 1 ok"])
        #expect(try await ground.jobs().sorted() == ["completed", "completed", "waiting 1"])
    }

    @Test func `an answer whose person somebody holds does not keep others waiting`() async throws {
        let ground = try await devices("held", "free", "free-too")
        let channel = ByToken { token in
            token == "held" ? .rejected(reason: "too large") : .delivered(reply: "ok")
        }
        let ended = "SELECT count(*) FROM errand.finished_jobs WHERE kind = 'notification.push'"
        try await withThrowingTaskGroup(of: Void.self) { group in
            let holder = try TestDatabase.here().session("holder")
            _ = try await holder.query("BEGIN")
            _ = try await holder.query(
                """
                SELECT FROM people.people p JOIN notification.devices d ON d.person_id = p.id
                WHERE d.token = 'held' FOR UPDATE OF p
                """)
            group.addTask { _ = try await ground.deliver([Provider.apns: channel]) }
            group.addTask {
                try await eventually("the others have ended") {
                    try await ground.number(ended) == 2
                }
                #expect(
                    try await ground.answers()
                        == ["pending pending 0", "sent delivered 1 ok", "sent delivered 1 ok"])
                _ = try await holder.query("ROLLBACK")
            }
            try await group.waitForAll()
        }
        #expect(try await ground.answers()[0] == "failed rejected 1 too large")
    }
}
