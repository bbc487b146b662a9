import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCommands {
    /// From an app server's SQL to what the providers got, by the program that users have.
    @Suite("Notices, end to end") struct NoticeTests {
        private static let queues = "notices,mail,apns,fcm"

        /// People who can be told at any hour, each with a telephone of both kinds and an address.
        private func people(_ count: Int) async throws {
            try await change(
                """
                INSERT INTO people.people (email, birth_date, age_verified_at, quiet_from,
                    quiet_until)
                SELECT 'person' || n || '@example.org', '1990-05-17', now(), NULL, NULL
                FROM generate_series(1, \(count)) AS n;
                SELECT notification.register_device(id, 'survey', 'apns',
                        'c0ffee' || lpad(to_hex(id), 58, '0'), 'org.example.survey'),
                    notification.register_device(id, 'survey', 'fcm', 'android-' || id)
                FROM people.people
                """)
        }

        /// As an app server does when a payout is on its way.
        private func intend() async throws {
            try await change(
                """
                SELECT notification.intend('payout.issued', id, 'payout:' || id,
                    '{"amount": {"minor": 1230, "currency": "CAD"}, "cheque": "",
                      "pay_date": "2026-12-01"}',
                    'payout:' || id, now() + interval '1 hour')
                FROM people.people
                """)
        }

        private func texts(_ sql: String) async throws -> [String] {
            let session = try TestDatabase.here().session()
            let rows = try await session.query(sql).map { try $0.optionalText(0) ?? "-" }
            await session.close()
            return rows
        }

        @Test func `a notice reaches telephones, mail and inbox`() async throws {
            try await withMailSink { mail in
                try await withPushSink { push in
                    try await people(1)
                    try await intend()
                    // The same event again tells nobody twice.
                    try await intend()
                    var environment = Channels.all(
                        push.credentials, push: push.url, mail: mail.url())
                    environment["ERRAND_LOG"] = "debug"
                    let run = try await errand(
                        "work", "--queues", Self.queues, "--drain", environment: environment)
                    run.expect(0, "sending notices by apns: APNs team TEAM123456")

                    let pushed = try push.requests("apns")
                    #expect(pushed.map(\.verdict) == ["accepted"])
                    let ids = try await texts(
                        """
                        SELECT encode(set_byte(set_byte(h, 6, get_byte(h, 6) & 15 | 128),
                            8, get_byte(h, 8) & 63 | 128), 'hex')::uuid::text
                        FROM notification.deliveries d
                        JOIN notification.notices n ON n.id = d.notice_id,
                        substr(sha256(convert_to(n.public_id || ':' || d.device_id, 'UTF8')), 1, 16)
                            AS h
                        WHERE d.provider = 'apns'
                        """)
                    #expect(pushed.map(\.id) == ids)
                    #expect(pushed.map(\.topic) == ["org.example.survey"])
                    #expect(pushed.map(\.priority) == ["10"])
                    let body = try #require(pushed.first?.body)
                    #expect(body.contains(#""thread-id":"payout.issued""#), "\(body)")
                    #expect(body.contains(#""kind":"payout.issued""#))
                    #expect(body.contains("$12.30"))
                    #expect(try push.requests("fcm").map(\.verdict) == ["accepted"])
                    #expect(try mail.kept().map(\.to) == [["person1@example.org"]])

                    let inbox = try await texts(
                        "SELECT title FROM notification.inbox(1) WHERE read_at IS NULL")
                    #expect(inbox.count == 1)
                    #expect(
                        try await texts(
                            "SELECT provider || ' ' || status || ' ' || attempts "
                                + "FROM notification.deliveries ORDER BY 1")
                            == ["apns delivered 1", "fcm delivered 1", "mail delivered 1"])
                    let secrets = try String(
                        contentsOfFile: push.credentials.keyFile, encoding: .utf8
                    )
                    .split(separator: "\n").dropFirst().dropLast().map(String.init)
                    for secret in secrets + ["c0ffee", "android-1", "person1@", "private_key"] {
                        #expect(!run.errors.contains(secret))
                    }
                }
            }
        }

        @Test func `a provider that is down holds up its own deliveries only`() async throws {
            let count = 12
            try await people(count)
            try await intend()
            try await withMailSink { mail in
                var down: (port: Int, worker: Program)?
                try await withPushSink(["apns=503 ServiceUnavailable"]) { push in
                    let worker = try start(
                        ["work", "--queues", Self.queues],
                        environment: Channels.all(
                            push.credentials, push: push.url, mail: mail.url()))
                    down = (push.port, worker)
                    try await eventually("the others to be told, and these to wait") {
                        try await number(
                            """
                            SELECT count(*) FILTER (WHERE status = 'delivered')
                                + count(*) FILTER (WHERE status = 'pending'
                                    AND reply LIKE '%APNs: 503 ServiceUnavailable')
                            FROM notification.deliveries
                            """) == 3 * count
                    }
                    #expect(try mail.kept().count == count)
                    #expect(try push.requests("fcm").count { $0.wasAccepted } == count)
                    // Nobody asks again before the circuit lets one go.
                    #expect(try push.requests("apns").count <= count)
                    try await eventually("the jobs to wait") {
                        try await number(
                            """
                            SELECT count(*) FROM errand.jobs WHERE queue = 'apns' AND attempt = 0
                                AND claimed_by IS NULL AND run_at > now()
                            """) == count
                    }
                }
                let (port, worker) = try #require(down)
                try await withPushSink(options: ["--port", "\(port)"]) { push in
                    try await eventually("all to be delivered", within: .seconds(240)) {
                        try await number(
                            """
                            SELECT count(*) FROM notification.deliveries
                            WHERE status = 'delivered' AND attempts = 1
                            """) == 3 * count
                    }
                    let accepted = try push.requests("apns").filter(\.wasAccepted)
                    #expect(accepted.count == count)
                    #expect(Set(accepted.compactMap(\.id)).count == count)
                    worker.signal(SIGTERM)
                    try await finish(worker, ["work"]).expect(0)
                    #expect(
                        try await number(
                            "SELECT count(*) FROM errand.finished_jobs "
                                + "WHERE queue = 'apns' AND attempt = 1") == count)
                }
            }
        }
    }
}
