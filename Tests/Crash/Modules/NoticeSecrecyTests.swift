import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCrashTests {
    /// What must be nowhere but where it belongs.
    @Suite("Secrets of notices") struct NoticeSecrecyTests {
        /// Tells 400 people, with failures of every sort, dead letters and kills, and looks at all
        /// that is written on the way.
        @Test(.timeLimit(.minutes(10)))
        func `no token, address, link, key or password is in a log, in Redis, a job or a command`()
            async throws
        {
            try await NoticeGround.use(
                people: 400, failing: 0.3, by: NoticeFaultTests.answers,
                rules: ["fcm:c0ffee*9=late 1"]
            ) { notices in
                let ground = notices.ground
                let socket = ground.place.redis.replacing("unix://", with: "")
                // Sees whatever is ever written there.
                let monitor = try Program("/usr/bin/env", ["redis-cli", "-s", socket, "monitor"])
                try await eventually("the monitor listens") { monitor.output.contains("OK") }
                let needles = try needles(notices)
                try notices.startWorkers(2)
                try await notices.intend()
                for step in 1...3 {
                    try await notices.progress(to: step * 80)
                    try await notices.killOne()
                    try await expectNone(of: needles, in: tables(ground), "tables")
                    try await expectNone(of: needles, in: redis(ground), "Redis")
                }
                try await notices.allDone()
                for worker in notices.workers { try await ground.expectCleanStop(worker) }
                for worker in notices.workers + notices.killed {
                    expectNone(of: needles, in: worker.errors + worker.output, "a worker's log")
                    #expect(!worker.errors.isEmpty)
                }
                monitor.signal(SIGTERM)
                _ = try await monitor.end(within: .seconds(20))
                #expect(monitor.output.contains("errand"))
                expectNone(of: needles, in: monitor.output, "what was sent to Redis")
                let tables = try await tables(ground)
                // It has seen what it should.
                for word in [
                    "notification.push", "Unregistered", "no such user", "PayloadTooLarge",
                    "listed https:", "?person=***",
                ] {
                    #expect(tables.contains(word), "\(word)")
                }
                expectNone(of: needles, in: tables, "tables")
                try await expectNone(of: needles, in: commands(ground), "a command's output")
                // The planted ones were in use.
                #expect(
                    try notices.push.requests("apns").contains {
                        $0.wasAccepted && $0.token?.hasPrefix(NoticeGround.tokenMark) == true
                    })
                #expect(
                    try notices.mail.kept().contains {
                        $0.user == "robot" && $0.to[0].hasSuffix(NoticeGround.domain)
                    })
                let mail = try #require(try notices.mail.kept().first)
                let content = String(decoding: try notices.mail.content(of: mail), as: UTF8.self)
                #expect(content.contains("?person=\(NoticeGround.linkMark)"))
            }
        }

        /// What is looked for.
        private func needles(_ notices: NoticeGround) throws -> [String] {
            let login = Data("\0robot\0\(NoticeGround.password)".utf8).base64EncodedString()
            let files = notices.push.credentials
            let keys = try [files.keyFile, files.accountFile].flatMap {
                try String(contentsOfFile: $0, encoding: .utf8)
                    .replacing("\\n", with: "\n").split(separator: "\n")
                    .map(String.init).filter { $0.utf8.count >= 40 && !$0.contains(" ") }
            }
            #expect(keys.count > 10)
            return [
                NoticeGround.tokenMark, NoticeGround.domain, NoticeGround.linkMark,
                NoticeGround.password, login,
                "BEGIN PRIVATE KEY", "ya29.", "bearer ey", "Bearer ey",
            ] + keys
        }

        private func expectNone(
            of needles: [String], in text: String, _ place: String,
            at location: SourceLocation = #_sourceLocation
        ) {
            for needle in needles {
                guard let found = text.range(of: needle) else { continue }
                let start = text.index(found.lowerBound, offsetBy: -200, limitedBy: text.startIndex)
                let around = text[(start ?? text.startIndex)..<found.upperBound]
                Issue.record("\(place): …\(around)", sourceLocation: location)
            }
        }

        /// All rows of the engine, and those of notices but for people and their devices.
        private func tables(_ ground: CrashGround) async throws -> String {
            let rows = try await StoredText.rows(
                of: ground.session,
                where: """
                    n.nspname = 'errand'
                    OR n.nspname = 'notification' AND c.relname NOT IN ('people', 'devices')
                    """)
            #expect(rows.contains { $0.table == "errand.finished_jobs" })
            #expect(rows.contains { $0.table == "notification.deliveries" })
            return rows.map(\.row).joined(separator: "\n")
        }

        private func redis(_ ground: CrashGround) async throws -> String {
            try await StoredText.redis(ground.place.redis)
        }

        /// What an operator is shown of it all.
        private func commands(_ ground: CrashGround) async throws -> String {
            var text = try await ground.done("job", "ls", "--limit", "1000", "--output", "json")
            text += try await ground.done("dead", "ls", "--output", "json")
            let some = try await ground.session.query(
                """
                SELECT DISTINCT ON (kind, outcome) id, outcome::text FROM errand.finished_jobs
                """)
            #expect(some.count >= 5)
            for row in some {
                let id = "\(try row.int64(0))"
                text += try await ground.done("job", "show", id)
                guard try row.text(1) == "dead" else { continue }
                text += try await ground.done("dead", "show", id)
            }
            return try await text + notificationCommands(ground)
        }

        /// The same of notices: one of each end, and their people.
        private func notificationCommands(_ ground: CrashGround) async throws -> String {
            var text = try await ground.done("notification", "ls", "--output", "wide")
            text += try await ground.done(
                "notification", "ls", "--limit", "1000", "--output", "json")
            let some = try await ground.session.query(
                """
                SELECT DISTINCT ON (d.provider, d.status) n.id, n.person_id, n.kind
                FROM notification.notices n JOIN notification.deliveries d ON d.notice_id = n.id
                """)
            #expect(some.count >= 5)
            for row in some {
                let (id, person) = ("\(try row.int64(0))", "\(try row.int64(1))")
                for output in ["table", "json"] {
                    text += try await ground.done("notification", "show", id, "--output", output)
                    text += try await ground.done("notification", "trace", id, "--output", output)
                    text += try await ground.done(
                        "notification", "why", "--person", person, "--kind", row.text(2),
                        "--output", output)
                }
                text += try await ground.done("notification", "devices", "--person", person)
            }
            return text
        }
    }
}
