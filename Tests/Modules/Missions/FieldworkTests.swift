import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Missions that are done", .database) struct DoingTests {
    @Test func `an offer is accepted once, by whom it was made to`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.given(try await ground.open(), 1)
        #expect(try await ground.accept(2, id).reason == "unknown")
        #expect(try await ground.accept(1, 99).reason == "unknown")
        #expect(try await ground.arrive(1, id).reason == "offered")
        for _ in 1...2 {
            #expect(
                try await ground.accept(1, id)
                    == .init(isAccepted: true, reason: "ok", state: "accepted"))
        }
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM missions.assignments a JOIN missions.missions m
                    ON m.id = a.mission_id
                WHERE accepted_at > offered_at AND remind_at = closes_at - interval '24 hours'
                  AND due_at = closes_at
                """) == 1)
        #expect(try await ground.told(id) == ["offered 0"])
    }

    @Test func `an answer that was on its way counts, a later one does not`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 2)
        let (one, other) = (try await ground.given(mission, 1), try await ground.given(mission, 2))
        try await ground.force(
            """
            UPDATE missions.assignments SET answer_by = clock_timestamp() - CASE id
                WHEN \(one) THEN interval '1 second' ELSE interval '61 seconds' END
            """)
        #expect(try await ground.accept(1, one).reason == "ok")
        try await ground.forgetSeeks()
        #expect(
            try await ground.accept(2, other)
                == .init(isAccepted: false, reason: "lapsed", state: "lapsed"))
        #expect(try await ground.accept(2, other).reason == "lapsed")
        #expect(try await ground.seeks(mission) == 1)
        #expect(try await ground.objections(mission, 2) == ["declined_before"])
    }

    @Test func `who may be sent nowhere by now is not, and what is over is over`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 2)
        let (one, other) = (try await ground.given(mission, 1), try await ground.given(mission, 2))
        _ = try await ground.text("SELECT missions.raise_flag(1, 'x')")
        #expect(try await ground.accept(1, one).reason == "withdrawn")
        #expect(try await ground.state(one) == "withdrawn")
        try await ground.age(mission, by: "3 days")
        try await ground.force("UPDATE missions.assignments SET answer_by = now() + '1 day'")
        #expect(
            try await ground.accept(2, other)
                == .init(isAccepted: false, reason: "over", state: "offered"))
    }

    @Test func `what was accepted may be declined until one is there`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 4)
        let ids = [
            try await ground.given(mission, 1), try await ground.given(mission, 2),
            try await ground.given(mission, 3),
        ]
        for (index, id) in ids.enumerated() {
            #expect(try await ground.accept(Int64(index + 1), id).reason == "ok")
        }
        try await ground.forgetSeeks()
        for _ in 1...2 {
            #expect(try await ground.answer("decline(1, \(ids[0]), 'ill')").reason == "ok")
        }
        #expect(
            try await ground.text(
                "SELECT barred || ' ' || reason FROM missions.assignments WHERE id = \(ids[0])")
                == "empty ill")
        #expect(try await ground.seeks(mission) == 1)
        #expect(try await ground.arrive(2, ids[1]).reason == "ok")
        #expect(try await ground.answer("decline(2, \(ids[1]))").reason == "arrived")
        try await ground.age(mission, by: "3 days")
        #expect(try await ground.answer("decline(3, \(ids[2]))").reason == "too_late")
        #expect(try await ground.answer("decline(4, \(ids[2]))").reason == "unknown")
        #expect(
            try await ground.refusal("SELECT missions.decline(3, \(ids[2]), repeat('x', 501))")
                == "22023")
    }

    @Test func `one is there near the branch, by a position that says so, in time`() async throws {
        let ground = try await MissionGround()
        let (mission, later) = (try await ground.open(), try await ground.open(3))
        let id = try await ground.given(mission, 1)
        _ = try await ground.accept(1, id)
        for (position, reason) in [
            ("-73.5, 45.5, 201", "too_vague"), ("-73.5, 45.5014, 60", "too_far"),
            ("-73.5, 46, 1", "too_far"), ("-73.5, 45.50133, 60", "ok"), ("0, 0, 1", "ok"),
        ] {
            let answer = try await ground.answer("arrive(1, \(id), \(position))")
            #expect(answer.reason == reason, "\(position)")
            if position.contains("45.5014") {
                // 155.6 m, of which 50 count.
                #expect(abs((answer.distance ?? 0) - 105.6) < 0.3)
            }
        }
        #expect(
            try await ground.text(
                """
                SELECT barred = daterange(d, d + 90) AND due_at = closes_at + interval '24 hours'
                FROM missions.assignments a JOIN missions.missions m ON m.id = a.mission_id,
                    LATERAL (SELECT (a.arrived_at AT TIME ZONE 'America/Toronto')::date AS d) t
                WHERE a.id = \(id)
                """) == "t")
        for (position, state) in [
            ("-190, 0, 1", "22003"), ("0, NULL, 1", "22003"), ("0, 0, -1", "22023"),
            ("0, 0, NULL", "22023"), ("0, 0, 'NaN'", "22023"), ("0, 0, 'Infinity'", "22023"),
        ] {
            #expect(
                try await ground.refusal("SELECT missions.arrive(1, \(id), \(position))") == state)
        }
        let other = try await ground.given(later, 2)
        _ = try await ground.accept(2, other)
        try await ground.age(later, by: "-2 hours")
        #expect(
            try await ground.answer("arrive(2, \(other), -73.5, 45.501, 1)").reason
                == "too_early")
        try await ground.age(later, by: "5 days")
        #expect(
            try await ground.answer("arrive(2, \(other), -73.5, 45.501, 1)").reason
                == "too_late")
        #expect(try await ground.arrive(3, other).reason == "unknown")
    }

    @Test func `steps are open one after the other, and are done anew until submitted`()
        async throws
    {
        let ground = try await MissionGround()
        let id = try await ground.given(try await ground.open(), 1)
        _ = try await ground.accept(1, id)
        func finish(_ number: Int, _ content: String = "{}") async throws -> String {
            try await ground.answer("finish_step(1, \(id), \(number), '\(content)')").reason
        }
        #expect(try await finish(1) == "accepted")
        #expect(try await ground.arrive(1, id).open == [1, 2])
        #expect(try await finish(3) == "not_open")
        #expect(try await finish(9) == "unknown_task")
        #expect(try await ground.answer("submit(1, \(id), 'r')").reason == "unfinished")
        #expect(try await finish(1, "{\"photo\": \"a\"}") == "ok")
        #expect(try await finish(4) == "not_open")
        #expect(
            try await ground.answer("finish_step(1, \(id), 3, '{}')").open == [2, 4])
        #expect(try await finish(1, "{\"photo\": \"b\"}") == "ok")
        #expect(try await finish(4) == "ok")
        #expect(
            try await ground.texts(
                """
                SELECT number || ' ' || kind || ' ' || is_open || ' ' || is_done
                    || coalesce(' ' || content::text, '') FROM missions.checklist(1, \(id))
                """) == [
                    "1 photos true true {\"photo\": \"b\"}", "2 interaction true false",
                    "3 survey true true {}", "4 report true true {}",
                ])
        #expect(try await ground.texts("SELECT kind::text FROM missions.checklist(2, \(id))") == [])
        #expect(
            try await ground.texts("SELECT open_tasks::text FROM missions.listing(1)") == ["1"])
        let noise = "(SELECT to_jsonb(string_agg(md5(n::text), '')) FROM generate_series(1, 900) n)"
        for content in ["'null'", "NULL", noise] {
            #expect(
                try await ground.refusal("SELECT missions.finish_step(1, \(id), 1, \(content))")
                    == "22023", "\(content)")
        }
        for _ in 1...2 {
            #expect(
                try await ground.answer("submit(1, \(id), 'r')")
                    == .init(isAccepted: true, reason: "ok", state: "submitted"))
        }
        #expect(try await ground.answer("submit(1, \(id), 'other')").reason == "submitted")
        #expect(try await ground.answer("submit(2, \(id), 'r')").reason == "unknown")
        #expect(try await finish(1) == "submitted")
        #expect(try await ground.refusal("SELECT missions.submit(1, \(id), '')") == "22023")
    }

    @Test func `what was begun may be finished a day after the end, and no longer`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open()
        let id = try await ground.given(mission, 1)
        _ = try await ground.accept(1, id)
        _ = try await ground.arrive(1, id)
        try await ground.age(mission, by: "3 days 23 hours")
        #expect(try await ground.answer("finish_step(1, \(id), 1, '{}')").reason == "ok")
        try await ground.age(mission, by: "1 hour")
        #expect(try await ground.answer("finish_step(1, \(id), 3, '{}')").reason == "too_late")
        #expect(try await ground.answer("submit(1, \(id), 'r')").reason == "too_late")
    }

    @Test func `the list has what is open, and nothing that has ended`() async throws {
        let ground = try await MissionGround()
        let mission = try await ground.open(slots: 2, "freebies => 'a meal'")
        let (id, other) = (try await ground.given(mission, 1), try await ground.given(mission, 2))
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws('|', assignment_id, mission_id, state, title, branch_id, branch,
                    establishment, longitude, latitude, round(distance_m), time_zone, pay, currency,
                    freebies, open_tasks, due_at = closes_at) FROM missions.listing(1)
                """) == [
                    "\(id)|\(mission)|offered|Have lunch|1|North|Café Un|-73.5|45.5|1112"
                        + "|America/Toronto|2000|CAD|a meal|4|t"
                ])
        _ = try await ground.accept(1, id)
        try await ground.age(mission, by: "1 day")
        #expect(
            try await ground.texts("SELECT state::text FROM missions.listing(1)") == ["accepted"])
        #expect(try await ground.texts("SELECT state::text FROM missions.listing(2)") == [])
        #expect(try await ground.state(other) == "offered")
        _ = try await ground.answer("decline(1, \(id))")
        #expect(try await ground.texts("SELECT state::text FROM missions.listing(1)") == [])
    }
}
