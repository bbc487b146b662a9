import Errand
import ErrandPostgres
import ErrandTestServices
import ErrandVotes
import Testing

@Suite("What people see of their votes", .database) struct StandingTests {
    private func standing(_ ground: VoteGround, _ vote: Int64, _ person: Int64) async throws
        -> String
    {
        try await ground.texts(
            """
            SELECT concat_ws(' ', state, is_initiator, has_joined, has_cast,
                coalesce(is_rejected::text, 'unknown'))
            FROM votes.standing($1, $2)
            """, [.int64(vote), .int64(person)]
        ).joined(separator: ", ")
    }

    private func history(_ ground: VoteGround, _ person: Int64) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' ', id, is_initiator, has_joined, has_cast,
                coalesce(is_rejected::text, 'unknown'))
            FROM votes.history($1)
            """, [.int64(person)])
    }

    // "A person cannot see that their own ballot was left out."
    @Test func `a voter sees that the own ballot was left out, once the result is out`()
        async throws
    {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        try await ground.vote(vote, 2, [1], as: "Ann Lee")
        try await ground.vote(vote, 3, [2], as: "ann lee")
        try await ground.vote(vote, 4, [2], as: "Bob")
        try await ground.join(vote, 5)
        #expect(try await standing(ground, vote, 3) == "open f t t unknown")
        #expect(try await standing(ground, vote, 5) == "open f t f unknown")
        #expect(try await standing(ground, vote, 6) == "open f f f unknown")
        #expect(try await standing(ground, vote, 1) == "open t f f unknown")
        #expect(try await standing(ground, 99, 3) == "")
        try await ground.end(vote)
        try await ground.work()
        _ = try await ground.session.query(
            "SELECT votes.resolve($1, 1, 'Ann Lee', 'reject', '{3}')", [.int64(vote)])
        // Nobody knows before all do.
        #expect(try await standing(ground, vote, 3) == "review f t t unknown")
        #expect(try await history(ground, 3) == ["\(vote) f t t unknown"])
        try await ground.work()
        #expect(try await standing(ground, vote, 3) == "published f t t true")
        #expect(try await standing(ground, vote, 2) == "published f t t false")
        #expect(try await history(ground, 3) == ["\(vote) f t t true"])
        #expect(try await history(ground, 4) == ["\(vote) f t t false"])
        #expect(try await history(ground, 5) == ["\(vote) f t f false"])
        // "Say in the result `joined`, `cast`, `counted`"
        #expect(
            try await ground.texts(
                """
                SELECT DISTINCT concat_ws(' ', joined, r.cast, counted, rejected)
                FROM votes.result($1) r
                """, [.int64(vote)]) == ["4 3 2 1"])
    }

    // "Votes that a person opened and did not join are not in their history"
    @Test func `the history has the votes that one has opened or joined, newest first`()
        async throws
    {
        let ground = try await VoteGround()
        let (first, second, third) = (
            try await ground.open(), try await ground.open(), try await ground.open()
        )
        try await ground.join(first, 2)
        try await ground.join(second, 1)
        try await ground.vote(third, 2)
        #expect(
            try await history(ground, 1) == [
                "\(third) t f f unknown", "\(second) t t f unknown", "\(first) t f f unknown",
            ])
        #expect(
            try await history(ground, 2)
                == ["\(third) f t t unknown", "\(first) f t f unknown"])
        #expect(
            try await ground.texts("SELECT id::text FROM votes.history(1, 2)")
                == ["\(third)", "\(second)"])
        #expect(try await ground.texts("SELECT id::text FROM votes.history(1, 0)") == [])
    }

    // "F00003 picks the vote by id, initiator's name and subject"
    @Test func `the initiator's name is shown, near by and in the vote`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.number(
            """
            SELECT votes.open('Lunch?', '{Soup,Pasta}', 1, clock_timestamp() + interval '1 hour',
                longitude => 10, latitude => 50, initiator_name => 'Zoë Roy')
            """)
        let other = try await ground.open()
        #expect(
            try await ground.texts(
                "SELECT concat_ws(' ', id, initiator, initiator_name) FROM votes.nearby(10, 50, 9)")
                == ["\(vote) 1 Zoë Roy"])
        let show = "SELECT initiator || ' ' || coalesce(initiator_name, 'none') FROM votes.show($1)"
        #expect(try await ground.texts(show, [.int64(vote)]) == ["1 Zoë Roy"])
        #expect(try await ground.texts(show, [.int64(other)]) == ["1 none"])
        for name in ["", " ", "a\nb", String(repeating: "x", count: 101)] {
            let open = """
                SELECT votes.open('S', '{a,b}', 1, clock_timestamp() + interval '1 hour',
                    initiator_name => $1)
                """
            #expect(try await ground.refusal(open, [.text(name)]) == "22023")
        }
    }

    // "while open nobody sees who has joined (joined is not voted …)"
    @Test func `participants and the initiator see who has joined until the result is out`()
        async throws
    {
        let ground = try await VoteGround()
        let vote = try await ground.open()
        for (person, name) in [(2, "Zoë"), (3, "ann"), (4, "Bob")] as [(Int64, String)] {
            try await ground.join(vote, person, as: name)
        }
        func names(_ person: Int64) async throws -> [String] {
            try await ground.texts(
                "SELECT name FROM votes.joined_names($1, $2)", [.int64(vote), .int64(person)])
        }
        for person in [1, 2, 4] as [Int64] {
            #expect(try await names(person) == ["ann", "Bob", "Zoë"])
        }
        #expect(try await names(5) == [])
        // Casting changes nothing in it.
        try await ground.cast(vote, 4)
        #expect(try await names(2) == ["ann", "Bob", "Zoë"])
        #expect(
            try await ground.texts(
                "SELECT name FROM votes.joined_names($1, 2, 1, 1)", [.int64(vote)]) == ["Bob"])
        #expect(try await ground.names(vote) == [])
        try await ground.end(vote)
        try await ground.work()
        #expect(try await names(2) == [])
        #expect(try await ground.names(vote) == ["Bob"])
    }

    // "Ask it where a vote is opened so" ("checking his or her address")
    @Test func `an address is asked for where the vote was opened so`() async throws {
        let ground = try await VoteGround()
        let vote = try await ground.number(
            """
            SELECT votes.open('S', '{a,b}', 1, clock_timestamp() + interval '1 hour',
                asks_address => true)
            """)
        func join(_ address: String?) async throws -> String {
            try await ground.session.query(
                "SELECT reason FROM votes.join($1, 2, 'Ann', $2)",
                [.int64(vote), .optional(address)]
            ).text(0, 0)
        }
        for address in [nil, "", " \t"] as [String?] {
            #expect(try await join(address) == "address_required")
        }
        #expect(try await ground.number("SELECT count(*) FROM votes.participants") == 0)
        #expect(try await join("2nd floor") == "ok")
        let asks = "SELECT asks_address::text FROM votes.show($1)"
        #expect(try await ground.texts(asks, [.int64(vote)]) == ["true"])
        // Only the review needs it.
        try await ground.cast(vote, 2)
        try await ground.end(vote)
        #expect(try await ground.number("SELECT count(address) FROM votes.participants") == 1)
        try await ground.work()
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await ground.number("SELECT count(address) FROM votes.participants") == 0)
    }

    @Test func `a repeated request answers the same`() async throws {
        // Each of several at once holds a key for a moment.
        let ground = try await VoteGround(ready: 10)
        let closing = try await ground.texts("SELECT (clock_timestamp() + interval '1 hour')::text")
        func open(_ subject: String, request: String) async throws -> Int64 {
            try await ground.pool.withSession { session in
                try await session.query(
                    """
                    SELECT votes.open($1, '{a,b}', 1, $2::text::timestamptz, expected => 3,
                        longitude => 1, latitude => 2, request_id => $3)
                    """, [.text(subject), .text(closing[0]), .text(request)]
                ).int64(0, 0)
            }
        }
        let votes = Notebook<Int64>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 { group.addTask { votes.add(try await open("S", request: "r")) } }
            try await group.waitForAll()
        }
        #expect(Set(votes.all).count == 1)
        #expect(try await ground.number("SELECT count(*) FROM votes.votes") == 1)
        await #expect {
            try await open("T", request: "r")
        } throws: { ($0 as? PostgresError)?.sqlState == "23505" }
        #expect(try await open("T", request: "s") != votes.all[0])
        // Joining too, after the ballot and after the end.
        let vote = votes.all[0]
        try await ground.vote(vote, 2)
        #expect(try await ground.join(vote, 2).reason == "ok")
        #expect(try await ground.join(vote, 2, as: "Other").reason == "already_cast")
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.state(vote) == "published deadline")
        #expect(try await ground.join(vote, 2).reason == "ok")
        #expect(try await ground.join(vote, 3).reason == "closed")
    }

    // "dropped if the initiator has muted all … while everybody's result waits"
    @Test func `the initiator is asked to review at any hour, whatever is muted`() async throws {
        let ground = try await VoteGround()
        _ = try await ground.session.query(
            """
            UPDATE people.people SET muted_until = clock_timestamp() + interval '1 year',
                quiet_from = (clock_timestamp() AT TIME ZONE time_zone - interval '1 hour')::time,
                quiet_until = (clock_timestamp() AT TIME ZONE time_zone + interval '1 hour')::time
            WHERE id = 1
            """)
        let vote = try await ground.open()
        for person in [2, 3] as [Int64] { try await ground.vote(vote, person, as: "Ann") }
        try await ground.end(vote)
        try await ground.work()
        #expect(try await ground.state(vote) == "review deadline")
        #expect(
            try await ground.texts(
                """
                SELECT n.kind || ' ' || n.urgency || ' ' || n.status || ' ' || n.subject
                FROM notification.inbox_items i JOIN notification.notices n ON n.id = i.notice_id
                WHERE n.person_id = 1
                """) == ["vote.review urgent sent vote:\(vote)"])
    }

    // "Joined without an address, cast, then `join` with an address: answers `ok`"
    @Test func `another address after the ballot is refused until addresses are deleted`()
        async throws
    {
        let ground = try await VoteGround()
        func join(_ vote: Int64, _ person: Int64, _ address: String?) async throws -> String {
            try await ground.session.query(
                "SELECT reason FROM votes.join($1, $2, 'Name ' || $2, $3)",
                [.int64(vote), .int64(person), .optional(address)]
            ).text(0, 0)
        }
        let (counted, cancelled) = (try await ground.open(), try await ground.open())
        for vote in [counted, cancelled] {
            #expect(try await join(vote, 2, nil) == "ok")
            #expect(try await join(vote, 3, "Door 3") == "ok")
            for person in [2, 3] as [Int64] { try await ground.cast(vote, person) }
            #expect(try await join(vote, 2, nil) == "ok")
            #expect(try await join(vote, 2, "Door 2") == "already_cast")
            #expect(try await join(vote, 3, "Door 3") == "ok")
            #expect(try await join(vote, 3, nil) == "already_cast")
        }
        try await ground.end(counted)
        // Closed, and not counted yet.
        _ = try await ground.session.query("SELECT votes.close($1)", [.int64(counted)])
        #expect(try await join(counted, 2, "Door 2") == "closed")
        #expect(try await join(counted, 3, "Door 3") == "ok")
        try await ground.work()
        #expect(try await ground.state(counted) == "published deadline")
        _ = try await ground.session.query("SELECT votes.cancel($1, 1)", [.int64(cancelled)])
        for vote in [counted, cancelled] {
            #expect(try await join(vote, 3, "Door 3") == "ok")
            #expect(try await join(vote, 4, "Door 4") == "closed")
        }
    }
}
