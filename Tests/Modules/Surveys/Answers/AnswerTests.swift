import ErrandPostgres
import ErrandTestServices
import Testing

/// Question 1 is a rating and required, 2 a choice of three, 3 many of three, 4 yes_no, 5 a text.
@Suite("Answers", .database) struct AnswerTests {
    private static let goodAnswers: [String] = [
        #"{"1": 1}"#, #"{"1": 5, "2": 1, "3": [], "4": false, "5": ""}"#,
        #"{"1": 5, "2": 3, "3": [3, 1, 2], "4": true, "5": "Fine.\n  Thanks  Ünïcödé 🙂"}"#,
        #"{"1": 3, "2": null, "3": null, "4": null, "5": null}"#,
        #"{"1": 3, "5": "\#(String(repeating: "é", count: 1_000))"}"#,
        #"{"1": 1, "1": 2}"#, #"{"1": 3, "9": null}"#,
    ]

    @Test("good ones are kept", arguments: AnswerTests.goodAnswers)
    func good(answers: String) async throws {
        let ground = try await SurveyGround(people: 1)
        try await ground.put()
        #expect(try await ground.complete(ground.invitation(), answers).reason == "ok")
        let kept = try await ground.session.query(
            "SELECT c.answers = jsonb_strip_nulls($1::text::jsonb) FROM surveys.completions c",
            [.text(answers)])
        #expect(try kept.bool(0, 0))
    }

    private static let incomplete: [String] = [
        "{}", #"{"1": null}"#, #"{"2": 1, "3": [1], "4": true, "5": "x"}"#,
    ]
    private static let wrongVersion: [String] = [
        #"{"1": 1, "6": 1}"#, #"{"1": 1, "0": 1}"#, #"{"1": 1, "-1": 1}"#, #"{"1": 1, "x": 1}"#,
        #"{"1": 1, "": 1}"#, #"{"1": 1, "01": 1}"#, #"{"1": 1, "1.0": 1}"#, #"{"1": 1, " 1": 1}"#,
        #"{"1": 1, "99999999999999999999": 1}"#, #"{"1": 1, "١": 1}"#,
    ]
    private static let malformed: [String?] = [
        nil, "null", "[]", "5", #""1""#, "true", #"[{"1": 1}]"#,
        // Ratings.
        #"{"1": 0}"#, #"{"1": 6}"#, #"{"1": -1}"#, #"{"1": 1.5}"#, #"{"1": 1.0}"#, #"{"1": 1e400}"#,
        #"{"1": 1e-400}"#, #"{"1": "1"}"#, #"{"1": true}"#, #"{"1": [1]}"#, #"{"1": {}}"#,
        #"{"1": {"1": 1}}"#, #"{"1": 99999999999999999999999}"#, #"{"1": ""}"#, #"{"1": []}"#,
        // Choices.
        #"{"1": 1, "2": 0}"#, #"{"1": 1, "2": 4}"#, #"{"1": 1, "2": "Tea"}"#,
        #"{"1": 1, "2": [1]}"#,
        #"{"1": 1, "2": 1.5}"#, #"{"1": 1, "2": false}"#, #"{"1": 1, "2": 101}"#,
        // Many.
        #"{"1": 1, "3": 1}"#, #"{"1": 1, "3": [1, 1]}"#, #"{"1": 1, "3": [4]}"#,
        #"{"1": 1, "3": [0]}"#, #"{"1": 1, "3": ["1"]}"#, #"{"1": 1, "3": [[1]]}"#,
        #"{"1": 1, "3": [null]}"#, #"{"1": 1, "3": [1, 1.0]}"#, #"{"1": 1, "3": {"1": true}}"#,
        #"{"1": 1, "3": [1, 2, 3, 1]}"#, #"{"1": 1, "3": [true]}"#, #"{"1": 1, "3": "1"}"#,
        #"{"1": 1, "3": [\#(Array(repeating: "1", count: 100_000).joined(separator: ","))]}"#,
        // Yes or no.
        #"{"1": 1, "4": "true"}"#, #"{"1": 1, "4": 1}"#, #"{"1": 1, "4": []}"#,
        #"{"1": 1, "4": "yes"}"#,
        // Texts.
        #"{"1": 1, "5": 5}"#, #"{"1": 1, "5": ["x"]}"#, #"{"1": 1, "5": {"text": "x"}}"#,
        #"{"1": 1, "5": "\#(String(repeating: "x", count: 1_001))"}"#,
        #"{"1": 1, "5": "\#(String(repeating: "é", count: 1_000_000))"}"#,
    ]

    @Test func `bad ones have a reason each, and change nothing`() async throws {
        let ground = try await SurveyGround(people: 1)
        try await ground.put()
        let invitation = try await ground.invitation()
        var all: [(String?, String)] = Self.malformed.map { ($0, "malformed") }
        all += Self.incomplete.map { ($0, "incomplete") }
        all += Self.wrongVersion.map { ($0, "wrong_version") }
        for (answers, reason) in all {
            let answer = try await ground.complete(invitation, answers)
            #expect(answer.reason == reason, "\(answers?.prefix(200) ?? "nil")")
        }
        for seconds in [nil, -1, 1_000_001] as [Int32?] {
            #expect(
                try await ground.complete(invitation, seconds: seconds).reason == "malformed")
        }
        #expect(try await ground.number("SELECT count(*) FROM surveys.completions") == 0)
        #expect(try await ground.number("SELECT count(*) FROM ledger.transactions") == 0)
        #expect(try await ground.complete(invitation, seconds: 0).reason == "ok")
    }

    @Test(
        "every kind can be required",
        arguments: [
            ("rating", "5", nil), ("choice", "2", nil), ("many", "[1]", "[]"),
            ("yes_no", "false", nil), ("text", #""No""#, #""  \n ""#), ("text", #""0""#, #""""#),
        ] as [(String, String, String?)])
    func required(kind: String, full: String, empty: String?) async throws {
        let ground = try await SurveyGround(people: 1)
        let options = kind == "choice" || kind == "many" ? #", "options": ["a", "b"]"# : ""
        try await ground.put(
            questions: #"[{"kind": "\#(kind)", "label": "x", "is_required": true\#(options)}]"#)
        let invitation = try await ground.invitation()
        #expect(try await ground.complete(invitation, "{}").reason == "incomplete")
        #expect(try await ground.complete(invitation, #"{"1": null}"#).reason == "incomplete")
        if let empty {
            #expect(
                try await ground.complete(invitation, #"{"1": \#(empty)}"#).reason == "incomplete")
        }
        #expect(try await ground.complete(invitation, #"{"1": \#(full)}"#).reason == "ok")
    }

    @Test(
        "texts are masked",
        arguments: [
            ("Call +1 (514) 555-0100 now", "Call […] now"), ("514.555.0100", "[…]"),
            ("5145550100", "[…]"), ("ada@example.org, please", "[…] please"),
            ("ask @ada", "ask […]"),
            ("see https://x.example/ada?b=1 there", "see […] there"), ("www.ada.example", "[…]"),
            ("I live at H2X 1Y4", "I live at […]"), ("h2x1y4.", "[…]."),
            ("12 rue Rachel, H2X 1Y4", "[…]"), ("10 Downing Street SW1A 2AA", "[…]"),
            ("12 cups at 5.50 in 2026", "12 cups at 5.50 in 2026"), ("", ""),
            ("Très bien", "Très bien"),
        ])
    func masked(words: String, masked: String) async throws {
        let found = try await TestDatabase.here().session().query(
            "SELECT surveys.masked($1)", [.text(words)])
        #expect(try found.text(0, 0) == masked)
    }
}
