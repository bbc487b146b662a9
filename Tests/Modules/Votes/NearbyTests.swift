import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Votes near a place", .database) struct NearbyTests {
    // "`votes.nearby` reads no more than it returns"
    @Test func `of many votes at one place only those are read that are returned`() async throws {
        let count = 600
        let ground = try await VoteGround(ready: count)
        _ = try await ground.session.query(
            """
            SELECT count(votes.open('Vote ' || n, '{a,b}', 1, clock_timestamp() + interval '1 hour',
                longitude => -73.57, latitude => 45.5)) FROM generate_series(1, \(count)) n
            """)
        try await ground.session.script("ANALYZE votes.votes")
        let read = try await ground.session.transaction { session in
            let found = try session.query(
                "SELECT count(*), max(distance_m) < 90 FROM votes.nearby(-73.571, 45.5, 200)")
            #expect(try found.int64(0, 0) == 50)
            #expect(try found.bool(0, 1))
            return try session.query(
                "SELECT pg_stat_get_xact_tuples_fetched('votes.votes_map_point'::regclass)"
            ).int64(0, 0)
        }
        #expect(read == 50)
    }

    @Test func `near is what is near on the globe, across the antimeridian too`() async throws {
        let ground = try await VoteGround(ready: 400)
        _ = try await ground.session.query(
            """
            SELECT count(votes.open('Vote ' || n, '{a,b}', 1, clock_timestamp() + interval '1 hour',
                longitude => CASE WHEN n % 4 = 0 THEN random() * 360 - 180
                    WHEN n % 2 = 0 THEN 179.9 + random() * 0.1 ELSE -180 + random() * 0.1 END,
                latitude => CASE WHEN n % 4 = 0 THEN random() * 180 - 90
                    ELSE -16 + random() * 0.2 END)) FROM generate_series(1, 400) n
            """)
        for (longitude, latitude, radius) in [
            (180, -15.9, 5_000), (-180, -15.9, 20_000), (179.97, -15.95, 8_000),
            (-179.95, -15.9, 12_000), (0, 0, 2_000_000), (50, 89.5, 500_000), (30, 60, 900_000),
        ] as [(Double, Double, Double)] {
            let wrong = try await ground.number(
                """
                WITH asked AS (SELECT a.*, votes.point(longitude, latitude) AS place
                    FROM (SELECT $1::double precision AS longitude,
                        $2::double precision AS latitude,
                        $3::double precision AS radius) a)
                SELECT count(*) FROM (
                    SELECT v.id, votes.distance(v.place, a.place) AS distance
                    FROM votes.votes v, asked a WHERE votes.is_within(v.place, a.place, radius)
                ) AS true_ones
                FULL JOIN (
                    SELECT n.* FROM asked, votes.nearby(longitude, latitude, radius, 500) n
                ) AS found USING (id)
                WHERE true_ones.distance IS DISTINCT FROM found.distance_m
                """, [.double(longitude), .double(latitude), .double(radius)])
            #expect(wrong == 0, "\(longitude) \(latitude)")
        }
        for arguments in ["181, 0, 1", "0, 91, 1", "0, 0, -1", "NULL, 0, 1"] {
            let state = try await ground.refusal("SELECT * FROM votes.nearby(\(arguments))")
            #expect(state == "22023")
        }
    }

    // "`votes.nearby` leaves out nearer votes when the radius is large"
    @Test func `of votes far away the nearest are listed, whatever the map's scale`() async throws {
        let ground = try await VoteGround(ready: 10)
        // On the map, the one in the north is farther away.
        for (subject, latitude) in [("north", 60.8975), ("south", 59.0755)] {
            _ = try await ground.session.query(
                """
                SELECT votes.open($1, '{a,b}', 1, clock_timestamp() + interval '1 hour',
                    longitude => 30, latitude => $2)
                """, [.text(subject), .double(latitude)])
        }
        let near = "SELECT subject FROM votes.nearby(30, 60, 200000, $1)"
        #expect(try await ground.texts(near, [.int32(1)]) == ["north"])
        #expect(try await ground.texts(near, [.int32(2)]) == ["north", "south"])
    }
}
