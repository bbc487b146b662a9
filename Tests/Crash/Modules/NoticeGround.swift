import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

/// People, simulated providers that fail, and the workers that tell the people.
final class NoticeGround {
    static let password = "pl4nted-Passw0rd"
    /// In every device's token and in every address.
    static let tokenMark = "c0ffee"
    static let domain = "planted.example"
    /// In every token by which somebody unsubscribes.
    static let linkMark = "facade00-ba5e-4000-8000-"

    let ground: CrashGround
    let push: PushSink
    let mail: MailSink
    let count: Int
    private(set) var workers: [Program] = []
    private(set) var killed: [Program] = []
    private var hurriedAt = ContinuousClock.now

    private init(_ ground: CrashGround, push: PushSink, mail: MailSink, count: Int) {
        self.ground = ground
        self.push = push
        self.mail = mail
        self.count = count
    }

    /// Runs a history with so many people, each of whom is to get one notice; a share of the pushes
    /// fails by one of these answers.
    static func use(
        people count: Int, failing share: Double, by answers: [String], rules: [String],
        _ history: (NoticeGround) async throws -> Void
    ) async throws {
        let keys = try await PushCredentials.shared.folder
        let dead = [
            "apns:dead*=410 Unregistered timestamp=4102444800000", "fcm:dead*=404 UNREGISTERED",
        ]
        let bad = [
            "apns:bad*=413 PayloadTooLarge", "fcm:bad*=400 INVALID_ARGUMENT violation=message.data",
        ]
        let options = [
            "--random", "\(share)", "--random-answers", answers.joined(separator: ","),
            "--seed", "\(Int.random(in: 1...1_000_000))",
        ]
        let mailRules = [
            "rcpt:nobody*=550 5.1.1 no such user", "rcpt:full*=452 4.2.2 mailbox full",
            "end:somebody20@*=554 5.6.0 listed https://x.example/?person=\(linkMark)000000000020",
            "data#10=451 4.3.0 try again", "rcpt#5=drop", "mail#5=slow 1",
        ]
        let mailOptions =
            [
                "--cert", keys.appending(path: "cert.pem").path,
                "--key", keys.appending(path: "key.pem").path, "--auth-needs-tls",
                "--require-auth", "robot:\(password)",
            ] + mailRules.flatMap { ["--fail", $0] }
        try await withMailSink(mailOptions) { mail in
            try await withPushSink(dead + bad + rules, options: options) { push in
                let notices = NoticeGround(
                    try CrashGround.here(), push: push, mail: mail, count: count)
                try await notices.addPeople()
                try await history(notices)
            }
        }
    }

    // MARK: People and what happens to them

    /// Of ten one has only an address; the devices of some, and some addresses, take nothing.
    private func addPeople() async throws {
        _ = try await ground.session.query(
            """
            INSERT INTO people.people (id, email, birth_date, age_verified_at,
                location_consent_at, unsubscribe_token, quiet_from, quiet_until)
            SELECT n, CASE WHEN n % 10 = 0 THEN
                    CASE WHEN n % 70 = 0 THEN 'nobody' WHEN n IN (410, 820, 1230) THEN 'full'
                        ELSE 'somebody' END || n || '@' || $2 END,
                '1990-05-17', now(), now(), ($3 || lpad(n::text, 12, '0'))::uuid, NULL, NULL
            FROM generate_series(1, $1::bigint) AS n
            """, [.int64(Int64(count)), .text(Self.domain), .text(Self.linkMark)])
        _ = try await ground.session.query(
            """
            INSERT INTO notification.devices (person_id, app, platform, environment, topic, token)
            SELECT n, 'survey', CASE n % 2 WHEN 1 THEN 'apns' ELSE 'fcm' END, 'production',
                'example.survey', CASE WHEN n % 97 = 1 THEN 'dead' WHEN n % 101 = 2 THEN 'bad'
                    ELSE '' END || $2 || lpad(to_hex(n), 58, '0')
            FROM generate_series(1, $1::bigint) AS n WHERE n % 10 <> 0
            """, [.int64(Int64(count)), .text(Self.tokenMark)])
        _ = try await ground.session.query("ANALYZE people.people, notification.devices")
    }

    /// Records what all are to be told, as an app's back end does.
    func intend() async throws {
        _ = try await ground.session.query(
            """
            SELECT count(notification.intend('coupon.nearby', p.id, 'coupon:' || p.id,
                '{"title": "Two for one", "branch": "Main Street", "distance": 120,
                  "last_day": "2099-01-31"}', 'nearby:' || p.id, now() + interval '1 day'))
            FROM people.people p
            """)
    }

    // MARK: Workers

    var environment: [String: String] {
        [
            "ERRAND_APNS_KEY_FILE": push.credentials.keyFile, "ERRAND_APNS_KEY_ID": "ABCDE12345",
            "ERRAND_APNS_TEAM_ID": "TEAM123456", "ERRAND_APNS_URL": push.url,
            "ERRAND_APNS_CA": push.credentials.authority,
            "ERRAND_FCM_ACCOUNT_FILE": push.credentials.accountFile, "ERRAND_FCM_URL": push.url,
            "ERRAND_FCM_CA": push.credentials.authority,
            "ERRAND_SMTP_URL": mail.url(
                "?ca=\(push.credentials.authority)", user: "robot:\(Self.password)@"),
            "ERRAND_MAIL_FROM": "offers@errand.example", "ERRAND_LOG": "debug",
            "ERRAND_UNSUBSCRIBE_URL": "https://app.example/off",
        ]
    }

    /// As few as keep up with providers that answer in milliseconds.
    private static let (pushesAtOnce, mailsAtOnce) = (8, 4)
    /// What one worker has under way at most, and a kill leaves without a record.
    static let underWay = 2 * pushesAtOnce + mailsAtOnce

    private func worker() throws -> Program {
        let (pushes, mails) = (Self.pushesAtOnce, Self.mailsAtOnce)
        return try ground.start(
            [
                "work", "--lease", "2s", "--grace", "5s", "--queues",
                "notices:500,apns:\(pushes),fcm:\(pushes),mail:\(mails)",
            ], environment: environment)
    }

    func startWorkers(_ number: Int) throws {
        for _ in 0..<number { workers.append(try worker()) }
    }

    /// Kills one of them, whatever it is doing, and starts another.
    func killOne() async throws {
        let victim = Int.random(in: workers.indices)
        let worker = workers[victim]
        #expect(worker.isRunning, "\(worker.errors.suffix(2_000))")
        worker.signal(SIGKILL)
        #expect(try await worker.end(within: .seconds(5)) == .killed(by: SIGKILL))
        killed.append(worker)
        workers[victim] = try self.worker()
    }

    // MARK: Progress

    private static let progress = """
        SELECT (SELECT count(*) FROM notification.notices WHERE answered_at IS NOT NULL),
            (SELECT count(*) FROM errand.jobs)
        """
    private static let hurry = """
        UPDATE errand.jobs SET run_at = clock_timestamp()
        WHERE claimed_by IS NULL AND run_at > clock_timestamp() + interval '1 s'
        """

    /// Waits until so many notices have ended; nobody waits for the end of a pause.
    func progress(to target: Int) async throws { try await wait { ended, _ in ended >= target } }

    /// Waits until no job is left, and ends what dead jobs have left.
    func allDone() async throws {
        try await wait { _, jobs in jobs == 0 }
        try await ground.done("enqueue", "notification.undelivered")
        try await wait { _, jobs in jobs == 0 }
    }

    private func wait(until isSo: (_ ended: Int64, _ jobs: Int64) -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(300)
        while true {
            let rows = try await ground.session.query(Self.progress)
            let (ended, jobs) = (try rows.int64(0, 0), try rows.int64(0, 1))
            if isSo(ended, jobs) { return }
            guard ContinuousClock.now < end else {
                throw Program.Trouble(
                    "\(ended) notices have ended, \(jobs) jobs are left\n"
                        + (workers.last?.errors.suffix(4_000) ?? ""))
            }
            if ContinuousClock.now - hurriedAt > .seconds(1) {
                hurriedAt = .now
                _ = try await ground.session.query(Self.hurry)
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
