import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Codes of reviews", .database) struct ReviewCodeTests {
    private func review(
        _ ground: MissionGround, _ id: Int64, _ arguments: String
    ) async throws -> String {
        try await ground.text("SELECT missions.review(\(id), 'Olga', \(arguments))")
    }

    private func listed(_ ground: MissionGround) async throws -> [String] {
        try await ground.texts(
            """
            SELECT concat_ws(' | ', state, reason, reason_code, reason_tasks, open_tasks)
            FROM missions.listing(1)
            """)
    }

    @Test(arguments: [
        ("wrong_place", "this is another place"), ("unclear", "it is too unclear to use"),
        ("copied", "it was copied"), ("incomplete", "something is missing"),
    ])
    func `a code says why, with or without a reason`(code: String, words: String) async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(), 1)
        #expect(try await review(ground, id, "'return', code => '\(code)'") == "t")
        #expect(try await listed(ground) == ["arrived | \(words) | \(code) | {} | 1"])
        // It is kept: nothing of the work is deleted.
        #expect(
            try await ground.number(
                "SELECT count(*) FROM missions.steps WHERE assignment_id = \(id)") == 3)
        #expect(try await ground.answer("submit(1, \(id), 's')").reason == "ok")
        let reject = "'reject', 'see the window', code => '\(code)', tasks => '{3,1,3}'"
        #expect(try await review(ground, id, reject) == "t")
        #expect(
            try await ground.texts(
                "SELECT concat_ws(' ', state, reason, reason_code) FROM missions.done(1)")
                == ["rejected see the window \(code)"])
        #expect(
            try await ground.text("SELECT review_tasks FROM missions.assignments") == "{1,3}")
        #expect(try await ground.told(id).suffix(2) == ["returned 1", "rejected 0"])
    }

    @Test func `faces delete the result of the task at once, and ask for it again`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(), 1)
        try await ground.session.script(
            """
            UPDATE missions.steps SET content = '{"photo": "p-77"}' WHERE number = 1
            """)
        #expect(try await review(ground, id, "'return', code => 'faces', tasks => '{1}'") == "t")
        #expect(
            try await listed(ground) == ["arrived | people can be recognized | faces | {1} | 2"])
        #expect(
            try await ground.texts(
                """
                SELECT number || ' ' || is_done || ' ' || coalesce(content::text, 'none')
                FROM missions.checklist(1, \(id))
                """) == ["1 false none", "2 false none", "3 true {}", "4 true {}"])
        // Nothing in the database has the reference any more.
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM errand.jobs j WHERE j.args::text LIKE '%p-77%'
                """) == 0)
        #expect(
            try await ground.text("SELECT missions.personal_data(1)::text LIKE '%p-77%'") == "f")
        // The submission waits for it.
        #expect(try await ground.answer("submit(1, \(id), 's')").reason == "unfinished")
        #expect(
            try await ground.answer("finish_step(1, \(id), 1, '{\"photo\": \"p-78\"}')").reason
                == "ok")
        // A review that is repeated after the new picture does not delete that one.
        #expect(try await review(ground, id, "'return', code => 'faces', tasks => '{1}'") == "f")
        #expect(try await ground.answer("submit(1, \(id), 's')").reason == "ok")
        #expect(try await review(ground, id, "'approve'") == "t")
        #expect(
            try await ground.text(
                "SELECT concat(review_code, review_tasks, faces_tasks) FROM missions.assignments")
                == "{}{1}")
    }

    @Test func `faces that are seen later are deleted from a decided submission too`() async throws
    {
        let ground = try await MissionGround()
        let mission = try await ground.open(1, slots: 2)
        let (one, two) = (
            try await ground.submitted(mission, 1), try await ground.submitted(mission, 2)
        )
        func steps(_ id: Int64) async throws -> Int64 {
            try await ground.number(
                "SELECT count(*) FROM missions.steps WHERE assignment_id = \(id)")
        }
        let faces = "code => 'faces', tasks => '{1,4}'"
        _ = try await review(ground, one, "'reject', 'no'")
        #expect(try await review(ground, one, "'reject', \(faces)") == "t")
        #expect(try await review(ground, one, "'reject', \(faces)") == "f")
        #expect(try await steps(one) == 1)
        #expect(
            try await ground.texts("SELECT reason_code FROM missions.done(1)") == ["faces"])
        // Counted as one bad review, and notified once.
        #expect(try await ground.number("SELECT count(*) FROM missions.reviews") == 1)
        #expect(try await ground.told(one) == ["offered 0", "rejected 0"])

        _ = try await review(ground, two, "'return', code => 'unclear', tasks => '{3}'")
        #expect(try await review(ground, two, "'return', \(faces)") == "t")
        #expect(try await review(ground, two, "'return', \(faces)") == "f")
        #expect(try await steps(two) == 1)
        #expect(try await ground.told(two) == ["offered 0", "returned 1", "returned 2"])
        #expect(try await ground.answer("submit(2, \(two), 's')").reason == "unfinished")
    }

    @Test func `pictures with faces are deleted in any state, and the state stays`() async throws {
        let ground = try await MissionGround(hired: 6)
        let mission = try await ground.open(1, slots: 6)
        func steps(_ id: Int64) async throws -> [String] {
            try await ground.texts(
                "SELECT number FROM missions.steps WHERE assignment_id = \(id) ORDER BY number")
        }
        var ids: [Int64] = []
        for person in 1...5 as ClosedRange<Int64> {
            ids.append(try await ground.submitted(mission, person))
        }
        _ = try await review(ground, ids[0], "'approve'")
        _ = try await review(ground, ids[1], "'reject', 'no'")
        _ = try await review(ground, ids[2], "'return', 'no'")
        _ = try await review(ground, ids[3], "'return', 'no'")
        try await ground.force(
            "UPDATE missions.assignments SET due_at = now() - interval '1 day' WHERE id = \(ids[3])"
        )
        _ = try await ground.text("SELECT missions.miss()")
        let states = ["paid", "rejected", "arrived", "missed", "submitted"]
        for (id, state) in zip(ids, states) {
            #expect(try await ground.state(id) == state)
            let told = try await ground.told(id)
            let redact = "SELECT missions.redact(\(id), 'Olga', '{4,1}')"
            #expect(try await ground.text(redact) == "t", "\(state)")
            #expect(try await ground.text(redact) == "f", "\(state)")
            #expect(try await steps(id) == ["3"], "\(state)")
            #expect(try await ground.state(id) == state)
            #expect(try await ground.told(id) == told)
            #expect(
                try await ground.text(
                    "SELECT faces_tasks FROM missions.assignments WHERE id = \(id)") == "{1,4}")
        }
        // Who is at work reads why, and does it again.
        #expect(
            try await ground.texts(
                "SELECT concat_ws(' ', reason, reason_code, reason_tasks) FROM missions.listing(3)")
                == ["people can be recognized faces {1,4}"])
        #expect(try await ground.answer("submit(3, \(ids[2]), 's')").reason == "unfinished")
        // Another picture with faces is deleted too.
        _ = try await ground.answer("finish_step(3, \(ids[2]), 1, '{}')")
        #expect(try await ground.text("SELECT missions.redact(\(ids[2]), 'Olga', '{1}')") == "t")
        for arguments in ["'Olga', '{}'", "'Olga', NULL", "'Olga', '{9}'", "'', '{1}'"] {
            #expect(
                try await ground.refusal("SELECT missions.redact(\(ids[0]), \(arguments))")
                    == "22023", "\(arguments)")
        }
        #expect(
            try await ground.refusal("SELECT missions.redact(999, 'Olga', '{1}')") == "P0002")
    }

    @Test func `codes and tasks that make no sense are refused, and delete nothing`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(), 1)
        for arguments in [
            "'return', code => 'ugly'", "'return', code => ''", "'return', code => 'faces'",
            "'return', code => 'faces', tasks => '{}'", "'return', code => 'faces', tasks => '{9}'",
            "'return', code => 'faces', tasks => '{1,NULL}'", "'return', 'x', tasks => '{1}'",
            "'approve', code => 'unclear'", "'approve', code => 'faces', tasks => '{1}'",
        ] {
            #expect(
                try await ground.refusal("SELECT missions.review(\(id), 'Olga', \(arguments))")
                    == "22023", "\(arguments)")
        }
        #expect(
            try await ground.refusal(
                "SELECT missions.review(\(id), '1', 'return', code => 'faces', tasks => '{1}')")
                == "42501")
        _ = try await review(ground, id, "'approve'")
        #expect(
            try await ground.refusal(
                "SELECT missions.review(\(id), 'Olga', 'reject', code => 'faces', tasks => '{1}')")
                == "RU001")
        #expect(
            try await ground.number(
                "SELECT count(*) FROM missions.steps WHERE assignment_id = \(id)") == 3)
    }

    @Test func `an erased person's codes are gone`() async throws {
        let ground = try await MissionGround()
        let id = try await ground.submitted(try await ground.open(), 1)
        _ = try await review(ground, id, "'reject', code => 'copied', tasks => '{1}'")
        _ = try await ground.texts("SELECT object FROM missions.erase(1)")
        #expect(
            try await ground.text(
                "SELECT concat(review_code, review_tasks, reason) FROM missions.assignments")
                == "{}")
    }
}
