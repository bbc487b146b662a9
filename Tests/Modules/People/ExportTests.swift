import ErrandTestServices
import Testing

@Suite("Exports", .database) struct ExportTests {
    private func export(_ id: String, _ ground: PeopleGround) async throws -> String {
        try await ground.text("SELECT reason FROM people.export_data(1, '\(id)')")
    }

    @Test func `have all that is known, once a day`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.text("SELECT people.record_consent(1, 'terms', '1')::text")
        #expect(
            try await ground.text(
                """
                SELECT concat_ws(' ', reason, data #>> '{people,people,0,email}',
                    data #>> '{people,consents,0,what}', jsonb_array_length(data #> '{toy,things}'),
                    data #> '{people,people,0}' ? 'unsubscribe_token', next_at > now())
                FROM people.export_data(1, 'e1')
                """) == "ok person1@example.org terms 10 f t")
        #expect(try await export("e2", ground) == "too_soon")
        // The same request, whose answer got lost.
        #expect(try await export("e1", ground) == "ok")
        try await ground.run(
            "UPDATE people.exports SET exported_at = exported_at - interval '25 hours'")
        #expect(try await export("e2", ground) == "ok")
        #expect(try await export("e1", ground) == "too_soon")
    }

    @Test func `are given while an erasure waits, not after it`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.request(1)
        #expect(try await export("e1", ground) == "ok")
        try await ground.work()
        #expect(try await export("e2", ground) == "erased")
        #expect(try await ground.refusal("SELECT people.export_data(99, 'e')").hasPrefix("23503"))
    }
}
