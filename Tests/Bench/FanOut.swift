import FoundationEssentials
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence

/// One event told to many people, from the event to the jobs that push it to their devices.
enum FanOut {
    /// Tells the people of some ids.
    private struct Page: Job {
        static let kind = "bench.fan-out"
        static let options = JobOptions(queue: "fan-out")
        var first: Int64
        var last: Int64
        var event: String
    }

    private static func kind(_ name: String) throws -> NoticeKind {
        switch name {
        case "urgent":
            var kind = NoticeKind(
                "bench.urgent", app: .init("vote"), channels: [.push], fields: [:])
            kind.urgency = .urgent
            return kind
        case "normal":
            return NoticeKind("bench.normal", app: .init("vote"), channels: [.push], fields: [:])
        case "promotional":
            var kind = NoticeKind(
                "bench.promotional", app: .init("vote"), channels: [.push, .inbox], fields: [:])
            kind.urgency = .promotional
            return kind
        default:
            throw Flags.Wrong(description: "--kind \(name): expected urgent, normal, promotional")
        }
    }

    private struct Words: Wording {
        func words(
            of kind: String, on channel: NoticeKind.Channel, data: [UInt8], locale: String,
            zone: Zone?, unsubscribe: String?
        ) throws -> NoticeTemplates.Rendered {
            NoticeTemplates.Rendered(title: "The vote is over", text: "See its result in the app.")
        }
    }

    private static let fill = """
        INSERT INTO people.people (id, email, quiet_from, quiet_until)
        SELECT n, n || '@example.org', NULL, NULL FROM generate_series(1, $1::bigint) AS n
        ON CONFLICT DO NOTHING
        """
    private static let devices = """
        INSERT INTO notification.devices (person_id, app, platform, environment, topic, token)
        SELECT n, 'vote', CASE n % 2 WHEN 0 THEN 'apns' ELSE 'fcm' END, 'production',
            'org.example.vote', 'token-' || n
        FROM generate_series(1, $1::bigint) AS n
        ON CONFLICT DO NOTHING
        """
    private static let count = "SELECT count(*) FROM errand.jobs WHERE kind = 'notification.push'"

    /// Prints how long it takes until the jobs of all are in their queues.
    static func measure(_ flags: Flags) async throws {
        let people = try flags.int("people", 100_000)
        let size = try flags.int("batch", 500)
        let kind = try kind(try flags.text("kind", "normal"))
        let session = Session(SessionSettings(try flags.database(), name: "bench-fan-out"))
        for sql in [fill, devices] { _ = try await session.query(sql, [.int64(Int64(people))]) }
        try await session.script("VACUUM ANALYZE people.people, notification.devices")
        let before = try await session.query(count).int64(0, 0)

        let catalogue = NoticeCatalogue([kind], wording: Words())
        var kinds = JobKinds()
        kinds.handle(Page.self) { page, context in
            let intents = (page.first...page.last).map { person in
                Intent(
                    kind.name, to: person, of: page.event, data: Array("{}".utf8),
                    dedupeKey: "\(page.event):\(person)", expiresAt: .infinity)
            }
            try await context.database.transaction { transaction in
                try await NoticePlanner(catalogue, context: context).notify(
                    intents, now: context.now, in: transaction)
                try await context.complete(in: transaction)
            }
        }
        var options = WorkerOptions(
            queues: [.init("fan-out", concurrency: try flags.int("concurrency", 2))])
        options.drain = true
        options.runsSchedules = false
        let worker = Worker(
            servers: try flags.servers(), kinds: kinds, options: options, log: .silent)
        let client = try await flags.client(connections: 1)
        let event = "event-\(monotonicNow())"
        let start = monotonicNow()
        try await client.enqueue(
            stride(from: 1, through: people, by: size).map {
                Page(first: Int64($0), last: Int64(min($0 + size - 1, people)), event: event)
            })
        _ = try await worker.run(until: Stop())
        let end = monotonicNow()
        let made = try await session.query(count).int64(0, 0) - before
        report([("jobs", Double(made)), ("seconds", seconds(from: start, to: end))])
    }
}
