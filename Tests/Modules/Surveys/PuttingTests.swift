import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Putting and closing surveys", .database) struct PuttingTests {
    @Test func `a change is a new version, and the same again is none`() async throws {
        let ground = try await SurveyGround()
        #expect(try await ground.put() == 1)
        #expect(try await ground.put() == 1)
        #expect(try await ground.put(title: "Your lunch") == 2)
        #expect(try await ground.put(title: "Your lunch") == 2)
        #expect(try await ground.put(title: "Your lunch", "expires_days => 15") == 3)
        #expect(try await ground.put() == 4)
        let other = #"[{"kind": "rating", "label": "The service"}]"#
        #expect(try await ground.put(questions: other) == 5)
        #expect(
            try await ground.put(
                questions:
                    #"[{"label": "The service", "kind": "rating", "number": 1, "#
                    + #""is_required": false}]"#) == 5)
        #expect(try await ground.number("SELECT count(*) FROM surveys.versions") == 5)
        #expect(try await ground.number("SELECT count(*) FROM surveys.questions") == 21)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.questions_in(1, 1) q, "
                    + "jsonb_array_elements(q) e WHERE e ? 'options'") == 2)
    }

    @Test func `questions keep the numbers that they are given`() async throws {
        let ground = try await SurveyGround()
        let questions =
            #"[{"number": 7, "kind": "text", "label": "B"}, "#
            + #"{"number": 3, "kind": "yes_no", "label": "A", "options": null}]"#
        try await ground.put(questions: questions)
        #expect(
            try await ground.texts(
                "SELECT number || label || is_required::text FROM surveys.questions ORDER BY number"
            )
                == ["3Afalse", "7Bfalse"])
    }

    @Test func `one open survey is for the receipts of an establishment`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        #expect(try await failure(ground, 2, 1, "") == "23505")
        #expect(try await failure(ground, 1, 2, "") == "23505")
        #expect(try await failure(ground, 2, 1, ", for_receipts => false") == nil)
        #expect(try await failure(ground, 3, 2, "") == nil)
        let closed = try await ground.text("SELECT surveys.close_survey(1)::text")
        #expect(try await ground.text("SELECT surveys.close_survey(1)::text") == closed)
        #expect(try await failure(ground, 2, 1, "") == nil)
        #expect(try await failure(ground, 1, 1, "") == "23505")
        #expect(try await failure(ground, 1, 1, ", for_receipts => false") == nil)
        #expect(try await ground.failure("SELECT surveys.close_survey(99)") == "23503")
        #expect(try await failure(ground, 9, 99, "") == "23503")
    }

    /// The SQLSTATE of putting a survey; `more` overrides.
    private func failure(
        _ ground: SurveyGround, _ id: Int64, _ establishment: Int64, _ more: String
    ) async throws -> String? {
        try await ground.failure(
            "SELECT surveys.put_survey(\(id), \(establishment), 'x', 2, paid => 500, cut => 300, "
                + "questions => '\(SurveyGround.questions)'\(more))")
    }

    @Test(
        "what is invalid is refused",
        arguments: [
            "0, 1, 'x', 2, paid => 5, cut => 3", "NULL, 1, 'x', 2, paid => 5, cut => 3",
            "1, 1, '', 2, paid => 5, cut => 3", "1, 1, NULL, 2, paid => 5, cut => 3",
            "1, 1, repeat('x', 201), 2, paid => 5, cut => 3",
            "1, 1, E'a\\nb', 2, paid => 5, cut => 3", "1, 1, 'x', 0, paid => 5, cut => 3",
            "1, 1, 'x', 61, paid => 5, cut => 3", "1, 1, 'x', 2, 0, 5, 3", "1, 1, 'x', 2, 91, 5, 3",
            "1, 1, 'x', 2, 14, 5, 6", "1, 1, 'x', 2, 14, 5, 0", "1, 1, 'x', 2, 14, 5, -1",
            "1, 1, 'x', 2, 14, NULL, NULL", "1, 1, 'x', 2, 14, 9000000000000000, 5",
            "1, 1, 'x', 2, 14, 5, 3, 'XYZ'", "1, 1, 'x', 2, 14, 5, 3, 'cad'",
            "1, 1, 'x', 2, 14, 5, 3, NULL", "1, 1, 'x', 2, 14, 5, 3, 'CAD', ''",
            "1, 1, 'x', 2, 14, 5, 3, 'CAD', 'tea', 0", "1, 1, 'x', 2, 14, 5, 3, 'CAD', 'tea', 366",
            "1, 1, 'x', 2, 14, 5, 3, 'CAD', 'tea', NULL",
            "1, 1, 'x', 2, 14, 5, 3, for_receipts => NULL",
        ])
    func invalid(arguments: String) async throws {
        let ground = try await SurveyGround(people: 1)
        #expect(
            try await ground.failure(
                "SELECT surveys.put_survey(\(arguments), "
                    + "questions => '\(SurveyGround.questions)')") == "22023")
        #expect(try await ground.number("SELECT count(*) FROM surveys.surveys") == 0)
    }

    @Test(
        "questions that are invalid are refused",
        arguments: [
            "null", "[]", "{}", "5", "[5]", "[[]]", #"[{}]"#, #"[{"kind": "rating"}]"#,
            #"[{"kind": "stars", "label": "x"}]"#, #"[{"kind": "rating", "label": ""}]"#,
            #"[{"kind": "rating", "label": "a\nb"}]"#, #"[{"kind": "rating", "label": 5}]"#,
            #"[{"kind": ["rating"], "label": "x"}]"#,
            #"[{"kind": "rating", "label": "x", "is_required": "yes"}]"#,
            #"[{"kind": "rating", "label": "x", "number": 0}]"#,
            #"[{"kind": "rating", "label": "x", "number": 101}]"#,
            #"[{"kind": "rating", "label": "x", "number": 1.5}]"#,
            #"[{"kind": "rating", "label": "x", "number": "1"}]"#,
            #"[{"kind": "rating", "label": "x", "stars": 5}]"#,
            #"[{"kind": "rating", "label": "x", "options": ["a", "b"]}]"#,
            #"[{"kind": "choice", "label": "x"}]"#,
            #"[{"kind": "choice", "label": "x", "options": ["a"]}]"#,
            #"[{"kind": "choice", "label": "x", "options": ["a", "a"]}]"#,
            #"[{"kind": "choice", "label": "x", "options": ["a", ""]}]"#,
            #"[{"kind": "choice", "label": "x", "options": ["a", 5]}]"#,
            #"[{"kind": "many", "label": "x", "options": {"a": 1}}]"#,
            #"[{"kind": "rating", "label": "x", "number": 2}, {"kind": "rating", "label": "y"}]"#,
            "["
                + Array(repeating: #"{"kind": "rating", "label": "x"}"#, count: 101)
                .joined(separator: ",") + "]",
        ])
    func questions(questions: String) async throws {
        let ground = try await SurveyGround(people: 1)
        #expect(
            try await ground.failure(
                "SELECT surveys.put_survey(1, 1, 'x', 2, paid => 5, cut => 3, "
                    + "questions => '\(questions)')") == "22023")
    }

    @Test func `a person answers the version that they were invited to`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let old = try await ground.invitation()
        try await ground.put(
            title: "Another", questions: #"[{"kind": "yes_no", "label": "Well?"}]"#)
        let new = try await ground.invitation()
        #expect(
            try await ground.texts(
                "SELECT number || kind::text FROM surveys.questions_of(\(old), 1)")
                == ["1rating", "2choice", "3many", "4yes_no", "5text"])
        #expect(
            try await ground.texts("SELECT label FROM surveys.questions_of(\(new), 1)")
                == ["Well?"])
        #expect(
            try await ground.number("SELECT count(*) FROM surveys.questions_of(\(new), 2)") == 0)
        #expect(try await ground.complete(new, #"{"2": 1}"#).reason == "wrong_version")
        #expect(try await ground.complete(old, #"{"1": 3, "2": 1}"#).reason == "ok")
        #expect(try await ground.complete(new, #"{"1": true}"#).reason == "ok")
    }
}
