import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Repeated requests of room-mates", .database) struct RequestTests {
    // "The digest of a request depends on the TimeZone and DateStyle of the session."
    @Test func `a request is repeated from a session with other settings`() async throws {
        let ground = try await HouseholdGround(members: 2)
        // Midnight in Greenwich, on another day in Toronto.
        let end = try await ground.texts(
            "SELECT (date_trunc('day', now()) + interval '3 days')::text")[0]
        let calls = [
            "add_note(1, 'Hi', '\(end)', NULL, 'n')",
            "add_chore(1, 'Bins', '2027-01-05', at_time => '20:00', request_id => 'c')",
            "add_item(1, 'Milk', true, 1.5, request_id => 'i')",
            "add_bill(1, 'Power', 900, '{1,2}', 'b', '2026-11-02')",
            "complete_trip(1, '{1}', 300, 't', '2026-11-02')",
            "add_trip_item(1, 2, 'Tea', 2, request_id => 'ti')",
        ]
        var made: [String] = []
        for call in calls { made.append(try await ground.call(call)) }
        let other = try TestDatabase.here().session()
        for (zone, style) in [
            ("America/Toronto", "German"), ("Asia/Kathmandu", "SQL, DMY"), ("UTC", "Postgres, MDY"),
        ] {
            try await other.script(
                """
                SET TimeZone = '\(zone)'; SET DateStyle = '\(style)'; SET IntervalStyle = iso_8601;
                SET bytea_output = escape; SET extra_float_digits = -3
                """)
            for (call, made) in zip(calls, made) {
                #expect(try await ground.call(call, in: other) == made, "\(zone) \(style): \(call)")
            }
        }
        await other.close()
        #expect(
            try await ground.refusal("add_bill(1, 'Power', 900, '{1,2}', 'b', '2026-02-11')")?
                .prefix(5) == "23505")
    }
}
