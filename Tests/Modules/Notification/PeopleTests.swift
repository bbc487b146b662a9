import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("People, from SQL", .database) struct PeopleTests {
    private static let known = """
        SELECT concat_ws(' ', email, time_zone, birth_date, age_verified_at AT TIME ZONE 'UTC',
            location_consent_at AT TIME ZONE 'UTC', notice_time, quiet_from, quiet_until,
            muted_until AT TIME ZONE 'UTC')
        FROM people.people WHERE id = 17
        """

    private func put(_ facts: String, _ ground: Ground) async throws -> String {
        try await ground.texts(
            "SELECT people.put_person(17, $1)::text", [.json(Array(facts.utf8))])[0]
    }

    @Test func `who is put is added, and then changed in what is named alone`() async throws {
        let ground = try await Ground()
        #expect(try await put("{}", ground) == "true")
        let bare = ["UTC 10:00:00 22:00:00 07:00:00"]
        #expect(try await ground.texts(Self.known) == bare)
        let all = """
            {"email": "a@example.org", "time_zone": "America/Toronto", "birth_date": "1990-05-17",
             "age_verified_at": "2026-01-05T10:00:00Z", "notice_time": "18:30",
             "location_consent_at": "2026-01-06T10:00:00Z", "quiet_from": "23:00",
             "quiet_until": "06:00", "muted_until": "2026-02-01T00:00:00Z"}
            """
        #expect(try await put(all, ground) == "false")
        let full = [
            "a@example.org America/Toronto 1990-05-17 2026-01-05 10:00:00 2026-01-06 10:00:00 "
                + "18:30:00 23:00:00 06:00:00 2026-02-01 00:00:00"
        ]
        #expect(try await ground.texts(Self.known) == full)
        #expect(try await put("{}", ground) == "false")
        #expect(try await ground.texts(Self.known) == full)
        _ = try await put(#"{"email": "b@example.org", "quiet_from": "21:00"}"#, ground)
        #expect(
            try await ground.texts(Self.known) == [
                full[0].replacing("a@", with: "b@").replacing("23:00:00", with: "21:00:00")
            ])
        let nothing = """
            {"email": null, "time_zone": null, "birth_date": null, "age_verified_at": null,
             "notice_time": null, "location_consent_at": null, "quiet_from": null,
             "quiet_until": null, "muted_until": null}
            """
        _ = try await put(nothing, ground)
        #expect(try await ground.texts(Self.known) == ["UTC 10:00:00"])
    }

    @Test func `another birth date is not verified, unless it is said to be`() async throws {
        let ground = try await Ground()
        let verified = "SELECT count(age_verified_at) FROM people.people WHERE id = 17"
        let born = #""birth_date": "1990-05-17", "age_verified_at": "2026-01-05T10:00:00Z""#
        _ = try await put("{\(born)}", ground)
        _ = try await put(#"{"birth_date": "1990-05-17"}"#, ground)
        #expect(try await ground.number(verified) == 1)
        _ = try await put(#"{"birth_date": "1991-05-17"}"#, ground)
        #expect(try await ground.number(verified) == 0)
        _ = try await put("{\(born)}", ground)
        #expect(try await ground.number(verified) == 1)
    }

    @Test(
        "what is wrong with a person is said, without what is known of them",
        arguments: [
            ("NULL, '{}'", "put_person needs a person, and facts as a JSON object"),
            ("17, NULL", "put_person needs a person, and facts as a JSON object"),
            ("17, '[]'", "put_person needs a person, and facts as a JSON object"),
            (
                #"17, '{"mail": "a", "name": "b"}'"#,
                "mail: unknown fact; name: unknown fact"
            ),
            (#"17, '{"email": ""}'"#, "email: expected an address of at most 254 characters"),
            (#"17, '{"email": {"a": 1}}'"#, "email: expected an address"),
            (#"17, '{"email": "two@at@example.org x"}'"#, "email: expected an address"),
            (#"17, '{"time_zone": "Mars/Base"}'"#, "time_zone: expected an IANA name"),
            (#"17, '{"time_zone": "+05:00"}'"#, "time_zone: expected an IANA name"),
            (#"17, '{"time_zone": "EST"}'"#, "time_zone: expected an IANA name"),
            // What PostgreSQL reads as an offset, and another spelling.
            (#"17, '{"time_zone": "Foo/Bar+3"}'"#, "time_zone: expected an IANA name"),
            (#"17, '{"time_zone": "america/toronto"}'"#, "time_zone: expected an IANA name"),
            (#"17, '{"birth_date": "05/17/1990"}'"#, "birth_date: expected a date such as"),
            (#"17, '{"birth_date": "1990-02-31"}'"#, "birth_date: no such day"),
            (#"17, '{"muted_until": "2026-02-01"}'"#, "muted_until: expected a time with its"),
            (#"17, '{"notice_time": "24:00"}'"#, "notice_time: expected a time such as 18:30"),
            (#"17, '{"quiet_from": 22}'"#, "quiet_from: expected a time such as"),
            (#"17, '{"quiet_from": null}'"#, "quiet hours need quiet_from and quiet_until"),
        ])
    func wrong(arguments: String, message: String) async throws {
        let ground = try await Ground()
        do {
            try await ground.run("SELECT people.put_person(\(arguments))")
            Issue.record("\(arguments) was taken")
        } catch PostgresError.server(let error) {
            #expect(error.message.contains(message))
            #expect(error.detail == nil)
        }
        #expect(try await ground.number("SELECT count(*) FROM people.people") == 0)
    }

    @Test(arguments: [
        ("NULL, 'fcm', 't'", "unregister_device needs person, platform and token"),
        ("17, 'ios', 't'", "platform ios: expected apns or fcm"),
    ])
    func `a device that cannot be is refused`(arguments: String, message: String) async throws {
        let ground = try await Ground()
        do {
            try await ground.run("SELECT notification.unregister_device(\(arguments))")
            Issue.record("\(arguments) was taken")
        } catch {
            #expect("\(error)".contains(message))
        }
    }

    @Test func `who signs out is pushed nothing there, until somebody signs in`() async throws {
        let ground = try await Ground()
        let (ada, bob) = (try await ground.person(), try await ground.person())
        try await ground.device(of: ada, "token")
        let leave = "SELECT notification.unregister_device($1, 'fcm', 'token')::int::bigint"
        #expect(try await ground.number(leave, [.int64(bob)]) == 0)
        #expect(try await ground.number(leave, [.int64(ada)]) == 1)
        #expect(try await ground.number(leave, [.int64(ada)]) == 0)
        let answers = try await ground.notify(ground.intent(TestNotices.near, ada))
        #expect(answers.map(\.isKept) == [false])
        try await ground.device(of: bob, "token")
        let on = "SELECT person_id FROM notification.devices WHERE disabled_at IS NULL"
        #expect(try await ground.number(on) == bob)
    }
}
