import Foundation
import Glibc
import ErrandTestServices
import Testing

/// The environment by which channels are set up.
enum Channels {
    /// None of them.
    static let none = Dictionary(
        uniqueKeysWithValues: [
            "SMTP_URL", "MAIL_FROM", "MAIL_RATE", "UNSUBSCRIBE_URL", "APNS_KEY_FILE", "APNS_KEY_ID",
            "APNS_TEAM_ID",
            "APNS_URL", "APNS_CA", "APNS_RATE", "FCM_ACCOUNT_FILE", "FCM_URL", "FCM_CA",
            "FCM_RATE", "NOTICES", "KEYS_FILE", "WEBHOOKS_CA", "WEBHOOKS_PRIVATE",
        ].map { ("ERRAND_\($0)", "") })

    /// All of them, with these keys.
    static func all(
        _ keys: PushCredentials, push: String = "https://localhost:1",
        mail: String = "smtp://localhost:1?starttls=never"
    ) -> [String: String] {
        [
            "ERRAND_SMTP_URL": mail, "ERRAND_MAIL_FROM": "offers@errand.example",
            "ERRAND_UNSUBSCRIBE_URL": "https://survey.example/off",
            "ERRAND_APNS_KEY_FILE": keys.keyFile, "ERRAND_APNS_KEY_ID": "ABCDE12345",
            "ERRAND_APNS_TEAM_ID": "TEAM123456", "ERRAND_APNS_URL": push,
            "ERRAND_APNS_CA": keys.authority, "ERRAND_FCM_ACCOUNT_FILE": keys.accountFile,
            "ERRAND_FCM_URL": push, "ERRAND_FCM_CA": keys.authority,
        ]
    }
}

extension AppCommands {
    @Suite("Settings of channels") struct ChannelTests {
        /// A setting that is left out or changed, what is said, and what may not be.
        struct Row: Sendable {
            var change: [String: String]
            var said: [String]
            var hidden = "nothing hidden"
        }

        private static let rows = [
            Row(change: ["ERRAND_MAIL_FROM": ""], said: ["SMTP_URL is set, ERRAND_MAIL_FROM"]),
            Row(
                change: ["ERRAND_SMTP_URL": ""], said: ["ERRAND_SMTP_URL is not"]),
            Row(
                change: ["ERRAND_SMTP_URL": "http://me:sekret@h"],
                said: ["mail is misconfigured", "ERRAND_SMTP_URL=smtp://"], hidden: "sekret"),
            Row(
                change: ["ERRAND_MAIL_FROM": "nobody"],
                said: ["mail is misconfigured", "exactly one"]),
            Row(
                change: ["ERRAND_UNSUBSCRIBE_URL": "http://survey.example/off"],
                said: ["unsubscribe page \"http://survey.example/off\": expected https://host"]),
            Row(
                change: ["ERRAND_UNSUBSCRIBE_URL": "https://me:sekret@survey.example/off"],
                said: ["mail is misconfigured: unsubscribe page"], hidden: "sekret"),
            Row(
                change: ["ERRAND_SMTP_URL": "", "ERRAND_MAIL_FROM": ""],
                said: ["ERRAND_UNSUBSCRIBE_URL is set, ERRAND_SMTP_URL and"]),
            Row(
                change: ["ERRAND_APNS_KEY_ID": "", "ERRAND_APNS_TEAM_ID": ""],
                said: ["KEY_FILE is set, ERRAND_APNS_KEY_ID and ERRAND_APNS_TEAM_ID are not"]),
            Row(
                change: ["ERRAND_APNS_KEY_FILE": ""],
                said: ["ERRAND_APNS_KEY_ID is set, ERRAND_APNS_KEY_FILE is not"]),
            Row(
                change: [
                    "ERRAND_APNS_KEY_FILE": "", "ERRAND_APNS_KEY_ID": "",
                    "ERRAND_APNS_TEAM_ID": "",
                ], said: ["ERRAND_APNS_URL is set, ERRAND_APNS_KEY_FILE and"]),
            Row(
                change: ["ERRAND_APNS_KEY_ID": "short"],
                said: ["APNs key id \"short\": expected 10 capital letters and digits"]),
            Row(
                change: ["ERRAND_APNS_KEY_FILE": "/nonexistent/key.p8"],
                said: ["APNs key file: cannot read /nonexistent/key.p8"]),
            Row(
                change: ["ERRAND_APNS_KEY_FILE": "-----BEGIN PRIVATE KEY-----\nsekret"],
                said: ["ERRAND_APNS_KEY_FILE: expected the path of a file"], hidden: "sekret"),
            Row(
                change: ["ERRAND_APNS_URL": "https://me:sekret@h"],
                said: ["APNs URL \"***\": expected https://host:port"], hidden: "sekret"),
            Row(
                change: ["ERRAND_APNS_CA": "/dev/null"],
                said: ["ERRAND_APNS_CA: /dev/null: expected certificates"]),
            Row(
                change: ["ERRAND_APNS_RATE": "fast"],
                said: ["ERRAND_APNS_RATE: expected messages per second"]),
            Row(change: ["ERRAND_FCM_RATE": "0"], said: ["ERRAND_FCM_RATE: expected messages"]),
            Row(change: ["ERRAND_MAIL_RATE": "-1"], said: ["ERRAND_MAIL_RATE: expected messages"]),
            Row(
                change: ["ERRAND_FCM_ACCOUNT_FILE": ""],
                said: ["ERRAND_FCM_URL is set, ERRAND_FCM_ACCOUNT_FILE is not"]),
            Row(
                change: ["ERRAND_FCM_ACCOUNT_FILE": #"{"private_key": "sekret"}"#],
                said: ["ERRAND_FCM_ACCOUNT_FILE: expected the path"], hidden: "sekret"),
            Row(
                change: ["ERRAND_FCM_URL": "http://h"],
                said: ["FCM is misconfigured", "expected https://host:port"]),
        ]

        @Test(arguments: rows)
        func `what is half or wrong is refused by its name`(row: Row) async throws {
            let keys = try await PushCredentials.shared
            let environment = Channels.all(keys).merging(row.change) { $1 }
            let run = try await errand("work", "--drain", environment: environment)
            run.expect(2, "errand: ")
            for words in row.said { #expect(run.errors.contains(words), "\(run.errors)") }
            #expect(!run.errors.contains(row.hidden))
        }

        @Test func `files that hold something else are named, and not shown`() async throws {
            let keys = try await PushCredentials.shared
            for (name, file, expected) in [
                ("ERRAND_APNS_KEY_FILE", keys.accountFile, "the .p8 key of APNs"),
                ("ERRAND_FCM_ACCOUNT_FILE", keys.keyFile, "the JSON file of a Firebase"),
            ] {
                let environment = Channels.all(keys).merging([name: file]) { $1 }
                let run = try await errand("work", "--drain", environment: environment)
                run.expect(2, "\(file): expected \(expected)")
                let content = try String(contentsOfFile: file, encoding: .utf8)
                for line in content.split(whereSeparator: \.isNewline) where line.count >= 20 {
                    // The first line says only what kind of key follows.
                    let isSecret = !line.hasPrefix("-----")
                    #expect(!isSecret || !run.errors.contains(line))
                }
                #expect(!run.errors.contains("errand-demo"))
            }
        }

        @Test func `the doctor tells what is set up, and no secret`() async throws {
            let keys = try await PushCredentials.shared
            let mail = "smtp://me:sekret@localhost:1"
            var environment = Channels.all(keys, mail: mail)
            environment["ERRAND_FCM_RATE"] = "50"
            let run = try await errand("doctor", "-ojson", environment: environment)
            run.expect(0)
            let found = try run.records.first { $0["check"] == "channels" }?["message"].text ?? ""
            #expect(found.contains("mail: smtp://me:***@localhost:1"), "\(found)")
            #expect(found.contains("apns: APNs team TEAM123456, key ABCDE12345"))
            #expect(found.contains("fcm: FCM project errand-demo"))
            #expect(found.contains("50.0/s at most"))
            #expect(found.contains("unsubscribe page https://survey.example/off"))
            #expect(!run.output.contains("sekret"))
            environment["ERRAND_UNSUBSCRIBE_URL"] = ""
            let pageless = try await errand("doctor", "-ojson", environment: environment)
            pageless.expect(10)
            let lack = try pageless.records.first { $0["check"] == "unsubscribe" }
            #expect(lack?["remedy"].text?.contains("ERRAND_UNSUBSCRIBE_URL=https://") == true)
            environment["ERRAND_APNS_KEY_ID"] = ""
            let half = try await errand("doctor", "-ojson", environment: environment)
            half.expect(10)
            let warning = try half.records.first { $0["check"] == "channels" }
            #expect(warning?["severity"] == "warning")
            #expect(warning?["message"].text?.contains("ERRAND_APNS_KEY_ID is not") == true)
            let bare = try await errand("doctor", "-ojson")
            #expect(bare.output.contains("mail: not set up here; apns: not set up here"))
        }

        @Test func `the worker logs once that a provider refuses messages`() async throws {
            try await change(
                """
                INSERT INTO people.people (email, birth_date, age_verified_at, quiet_from,
                    quiet_until)
                SELECT 'somebody' || n || '@planted.example', '1990-05-17', now(), NULL, NULL
                FROM generate_series(1, 5) AS n;
                SELECT notification.intend('mission.missed', id, 'mission:1',
                    '{"title": "Shop", "branch": "Old Port", "ended_at": "2026-11-20T17:30:00Z"}',
                    'mission:' || id, now() + interval '1 hour')
                FROM people.people
                """)
            try await withMailSink(["--fail", "mail=530 5.7.0 log in first"]) { sink in
                let environment = [
                    "ERRAND_SMTP_URL": sink.url(), "ERRAND_MAIL_FROM": "offers@errand.example",
                ]
                let run = try await errand(
                    "work", "--queues", "notices,mail:4", "--drain", environment: environment)
                run.expect(0, "mail refuses messages; its deliveries wait: 530 5.7.0 log in first")
                let lines = run.errors.split(separator: "\n")
                #expect(lines.count { $0.contains("its deliveries wait: ") } == 1)
                #expect(!run.errors.contains("planted.example"))
            }
        }

        @Test func `deliveries that their worker has no channel for are named`() async throws {
            try await change(
                """
                INSERT INTO people.people (birth_date, age_verified_at, quiet_from,
                    quiet_until) VALUES ('1990-05-17', now(), NULL, NULL);
                SELECT notification.register_device(id, 'survey', 'apns', repeat('ab', 32), 'app')
                FROM people.people;
                SELECT notification.intend('mission.missed', id, 'mission:1',
                    '{"title": "Shop", "branch": "Old Port", "ended_at": "2026-11-20T17:30:00Z"}',
                    'mission:1', now() + interval '1 hour')
                FROM people.people
                """)
            let keys = try await PushCredentials.shared
            let environment = [
                "ERRAND_FCM_ACCOUNT_FILE": keys.accountFile,
                "ERRAND_FCM_URL": "https://localhost:1",
            ]
            let run = try await errand(
                "work", "--queues", "notices,apns", "--drain", environment: environment)
            run.expect(0, "apns is not set up here")
            let doctor = try await errand("doctor", "-ojson")
            doctor.expect(10)
            let finding = try doctor.records.first { $0["check"] == "deliveries" }
            #expect(finding?["severity"] == "warning")
            #expect(finding?["message"].text?.hasPrefix("1 delivery waits for apns") == true)
            #expect(finding?["remedy"].text?.contains("ERRAND_APNS_KEY_FILE") == true)
        }
    }
}
