import ErrandAdministration
import ErrandCrypto
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("From an event to an endpoint's answer", .database) struct WebhookDeliveryTests {
    /// A rule of the sink, and what becomes of delivery, job and endpoint.
    struct Row: Sendable {
        var rule: String
        var row: String
        var job: String
        var endpoint: String

        init(_ rule: String, _ row: String, _ job: String, _ endpoint: String) {
            self.rule = rule
            self.row = row
            self.job = job
            self.endpoint = endpoint
        }
    }

    private static let table = [
        Row("hook=204", "delivered 1 204", "completed", "enabled"),
        Row(
            "hook=307 location=https://localhost/",
            "pending 1 the endpoint answered 307: redirects are not followed", "waiting 1",
            "failing"),
        Row(
            "hook=410", "gone 1 the endpoint answered 410", "cancelled",
            "the endpoint answered 410"),
        Row("hook=413", "rejected 1 the endpoint answered 413", "cancelled", "failing"),
        Row(
            "hook=429 retry-after=600", "pending 1 the endpoint answered 429", "waiting 1",
            "failing"),
        Row(
            "hook=500 body=secret words", "pending 1 the endpoint answered 500", "waiting 1",
            "failing"),
        Row(
            "hook=stall",
            "pending 1 the endpoint gave no answer and may have accepted the message", "waiting 1",
            "failing"),
        Row(
            "hook=reset",
            "pending 1 the endpoint gave no answer and may have accepted the message", "waiting 1",
            "failing"),
        Row(
            "hook=lost",
            "pending 1 the endpoint gave no answer and may have accepted the message", "waiting 1",
            "failing"),
    ]

    @Test("each answer has its row and its end of the job", arguments: table)
    func answer(row: Row) async throws {
        try await withWebhooks(row.rule) { hooks in
            let id = try await hooks.add().id
            try await hooks.emit()
            try await hooks.deliver(limit: row.rule == "hook=stall" ? .seconds(2) : .seconds(20))
            #expect(try await hooks.rows() == [row.row])
            #expect(try await hooks.jobs() == [row.job])
            #expect(try await hooks.standing(id) == row.endpoint)
        }
    }

    @Test func `an endpoint that says when to come back is not asked before`() async throws {
        try await withWebhooks("hook#1=429 retry-after=600") { hooks in
            try await hooks.add()
            try await hooks.emit(1)
            try await hooks.deliver()
            let wait = try await hooks.ground.number(
                "SELECT extract(epoch FROM run_at - now())::bigint FROM errand.jobs")
            #expect((570...600).contains(wait))
        }
    }

    @Test func `the body says what happened and when, under one id for each endpoint`()
        async throws
    {
        try await withWebhooks("hook:/hook/1*#1=503") { hooks in
            try await hooks.add("/hook/1?key=sekret")
            try await hooks.add("/hook/2")
            let event = try #require(try await hooks.emit(5))
            let at = try await hooks.ground.session.query(
                "SELECT occurred_at FROM notification.events WHERE id = $1", [.int64(event)]
            ).timestamp(0, 0)
            try await hooks.deliver()
            try await hooks.ground.hurry()
            // Another worker, which knows nothing of the failure.
            try await hooks.deliver()
            let requests = try hooks.sink.requests("hook")
            #expect(requests.map(\.status).sorted() == [204, 204, 503])
            let body = #"{"type":"coupon.redeemed","timestamp":"\#(at)","data":{"n": 5}}"#
            #expect(Set(requests.map(\.body)) == [body])
            let first = requests.filter { $0.path == "/hook/1?key=sekret" }
            #expect(first.count == 2 && Set(first.map(\.id)).count == 1)
            #expect(Set(requests.map(\.id)).count == 2)
            #expect(
                try #require(first[0].id).contains(#/^msg_[0-9a-f]{8}-[0-9a-f-]{27}$/#))
            #expect(
                try await hooks.rows() == ["delivered 2 204", "delivered 1 204"])
        }
    }

    /// The signatures that a request should have.
    private func signatures(_ request: PushSink.Request, _ secrets: String...) throws -> String {
        WebhookSignature.header(
            id: try #require(request.id), timestamp: try #require(Int(request.timestamp ?? "")),
            body: Array((request.body ?? "").utf8),
            secrets: try secrets.map { try #require(WebhookSecret($0)) })
    }

    @Test func `while the secret is changed both sign, and then the new one alone`() async throws {
        try await withWebhooks { hooks in
            let (id, old) = try await hooks.add()
            try await hooks.emit(1)
            try await hooks.deliver()
            let made = try await hooks.endpoints.rotateSecret(
                id, keys: hooks.keys, by: WebhookGround.author)
            let new = try #require(made.secret)
            let again = try await hooks.endpoints.rotateSecret(
                id, keys: hooks.keys, by: WebhookGround.author)
            #expect(again.change == .unfit && again.secret == nil)
            try await hooks.emit(2)
            try await hooks.deliver()
            #expect(
                try await hooks.endpoints.finishSecret(id, by: WebhookGround.author) == .done)
            try await hooks.emit(3)
            try await hooks.deliver()
            let requests = try hooks.sink.requests("hook")
            #expect(requests.count == 3 && old != new)
            #expect(try requests[0].signatures == signatures(requests[0], old))
            #expect(try requests[1].signatures == signatures(requests[1], new, old))
            #expect(try requests[2].signatures == signatures(requests[2], new))
        }
    }

    @Test func `a private address is refused, and counts as a failure`() async throws {
        try await withWebhooks { hooks in
            let id = try await hooks.add().id
            try await hooks.emit()
            try await hooks.deliver(isOpen: false)
            #expect(try await hooks.rows() == ["rejected 1 the endpoint's address is private"])
            #expect(try await hooks.standing(id) == "failing")
            #expect(try hooks.sink.requests().isEmpty)
        }
    }

    @Test func `who took nothing for three days is disabled, with the reason`() async throws {
        try await withWebhooks("hook#1=500", "hook:/hook/*#2=502") { hooks in
            let id = try await hooks.add().id
            let since = "UPDATE notification.endpoints SET failing_since = now() - interval"
            // One success in between begins it anew.
            try await hooks.emit(1)
            try await hooks.deliver()
            #expect(try await hooks.standing(id) == "failing")
            try await hooks.ground.run("\(since) '71 hours'")
            try await hooks.emit(2)
            try await hooks.deliver()
            #expect(try await hooks.standing(id) == "failing")
            try await hooks.ground.run("\(since) '73 hours'")
            try await hooks.emit(3)
            try await hooks.deliver()
            let reason = try await hooks.standing(id)
            #expect(
                reason.contains(/^no success since 20[0-9T:-]+Z: the endpoint answered 502$/))
            // Nothing is recorded for it any more, and what is under way is withdrawn.
            #expect(try await hooks.emit(4) == nil)
            try await hooks.ground.hurry()
            try await hooks.deliver()
            #expect(
                try await hooks.rows()
                    == Array(repeating: "withdrawn 1 the endpoint is disabled", count: 3))
            #expect(try await hooks.endpoints.enable(id, by: WebhookGround.author) == .done)
            try await hooks.emit(5)
            try await hooks.deliver()
            #expect(try await hooks.rows().last == "delivered 1 204")
            #expect(try await hooks.standing(id) == "enabled")
        }
    }

    @Test func `failures that lie days apart are not one`() async throws {
        try await withWebhooks("hook=500") { hooks in
            let id = try await hooks.add().id
            try await hooks.emit(1)
            try await hooks.deliver()
            try await hooks.ground.run(
                """
                UPDATE notification.endpoints SET failing_since = now() - interval '9 days',
                    failed_at = now() - interval '25 hours'
                """)
            try await hooks.emit(2)
            try await hooks.deliver()
            #expect(try await hooks.standing(id) == "failing")
            let isNew = "SELECT (failing_since > now() - interval '1 hour')::text"
            #expect(
                try await hooks.ground.texts("\(isNew) FROM notification.endpoints") == ["true"])
        }
    }

    @Test func `one that was enabled again can fail again`() async throws {
        try await withWebhooks("hook=500") { hooks in
            let id = try await hooks.add().id
            try await hooks.emit(1)
            try await hooks.deliver()
            #expect(try await hooks.endpoints.disable(id, by: WebhookGround.author) == .done)
            #expect(try await hooks.endpoints.enable(id, by: WebhookGround.author) == .done)
            #expect(try await hooks.standing(id) == "enabled")
            try await hooks.emit(2)
            try await hooks.deliver()
            #expect(try await hooks.standing(id) == "failing")
        }
    }

    @Test func `a success ends the failing`() async throws {
        try await withWebhooks("hook#1=500") { hooks in
            let id = try await hooks.add().id
            try await hooks.emit(1)
            try await hooks.deliver()
            #expect(try await hooks.standing(id) == "failing")
            try await hooks.ground.run(
                "UPDATE notification.endpoints SET failing_since = now() - interval '9 days'")
            try await hooks.emit(2)
            try await hooks.deliver()
            #expect(try await hooks.standing(id) == "enabled")
        }
    }

    @Test func `a slow endpoint does not hold up the others`() async throws {
        try await withWebhooks("hook:/hook/slow=stall") { hooks in
            try await hooks.add("/hook/slow", owner: "app:slow")
            try await hooks.add("/hook/quick")
            for number in 0..<60 { try await hooks.emit(number, owner: "app:slow") }
            for number in 60..<80 { try await hooks.emit(number) }
            let worker = try TestWorker(
                hooks.kinds(limit: .seconds(60)), queues: [.init("webhooks")]
            ) { $0.grace = .zero }
            _ = try await worker.during {
                try await eventually("the quick one to have all", within: .seconds(45)) {
                    try await hooks.ground.number(
                        """
                        SELECT count(*) FROM notification.event_deliveries
                        WHERE status = 'delivered'
                        """) == 20
                }
                // Of the slow one nothing has an answer yet.
                #expect(
                    try await hooks.ground.number(
                        "SELECT sum(attempts) FROM notification.event_deliveries") == 20)
            }
            let slow = try hooks.sink.requests("hook").filter { $0.path == "/hook/slow" }
            #expect(slow.count <= EndpointGates.places)
        }
    }

    @Test func `what is late, or has no endpoint any more, ends without an attempt`() async throws {
        try await withWebhooks { hooks in
            let gone = try await hooks.add("/hook/1", owner: "app:a").id
            let off = try await hooks.add("/hook/2", owner: "app:b").id
            try await hooks.add("/hook/3")
            try await hooks.emit(1, owner: "app:a")
            try await hooks.emit(2, owner: "app:b")
            try await hooks.emit(3)
            try await hooks.ground.run(
                "UPDATE notification.events SET expires_at = now() WHERE dedupe_key = 'event:3'")
            #expect(try await hooks.endpoints.remove(gone, by: WebhookGround.author) == .done)
            #expect(try await hooks.endpoints.remove(gone, by: WebhookGround.author) == .unknown)
            #expect(try await hooks.endpoints.disable(off, by: WebhookGround.author) == .done)
            try await hooks.deliver()
            #expect(
                try await hooks.rows() == [
                    "withdrawn 0 the endpoint was removed", "withdrawn 0 the endpoint is disabled",
                    "expired 0 the event has expired",
                ])
            #expect(try hooks.sink.requests().isEmpty)
            #expect(try await hooks.jobs() == Array(repeating: "cancelled", count: 3))
        }
    }

    @Test func `without the key of a secret its events wait, and the log says why`() async throws {
        try await withWebhooks { hooks in
            try await hooks.add()
            try await hooks.emit()
            let lines = Notebook<String>()
            let others = try SealingKeys(current: SealingKey(id: "other", secret: .random(32)))
            try await hooks.deliver(
                keys: others, log: Log(minimum: .error) { lines.add($0.message) })
            #expect(try await hooks.jobs() == ["waiting 0"])
            let row = try await hooks.rows()[0]
            #expect(
                row.hasPrefix("pending 0 the secret cannot be opened: sealed with the key test"))
            #expect(lines.all.contains { $0.contains("sealed with the key test") })
            try await hooks.ground.hurry()
            try await hooks.deliver()
            #expect(try await hooks.rows() == ["delivered 1 204"])
        }
    }

    @Test func `the last attempt ends it, and so does the death of its job`() async throws {
        try await withWebhooks("hook#1=500") { hooks in
            try await hooks.add()
            try await hooks.emit(1)
            try await hooks.ground.run("UPDATE errand.jobs SET max_attempts = 1")
            try await hooks.deliver()
            #expect(try await hooks.rows() == ["failed 1 the endpoint answered 500"])
            #expect(try await hooks.jobs() == ["dead"])
            // As when its worker is killed in the last attempt.
            try await hooks.ground.run(
                """
                UPDATE notification.event_deliveries
                SET status = 'pending', reply = NULL, answered_at = NULL
                """)
            let ended = try await CloseUndelivered.run(in: hooks.ground.pool, now: Date())
            #expect(ended == (0, 1))
            #expect(
                try await hooks.rows()
                    == ["failed 1 its job died: the endpoint answered 500"])
            #expect(try await CloseUndelivered.run(in: hooks.ground.pool, now: Date()) == (0, 0))
            // Brought back by an operator it goes again.
            let dead = try await hooks.ground.number("SELECT id FROM errand.dead_jobs")
            _ = try await Inspector(session: hooks.ground.session).retry([dead])
            try await hooks.deliver()
            #expect(try await hooks.rows() == ["delivered 2 204"])
        }
    }
}
