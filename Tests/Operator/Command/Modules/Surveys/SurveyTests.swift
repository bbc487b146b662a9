import Foundation
import ErrandTestServices
import Testing

/// People of age, two establishments with a branch each, and the keys that seal receipt keys.
struct SurveyGround {
    let keys: KeyRing
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "errand-surveys-\(UUID().uuidString)")

    static let questions = """
        [{"kind": "rating", "label": "Service", "is_required": true},
         {"kind": "choice", "label": "When?", "options": ["Morning", "Evening"]},
         {"kind": "many", "label": "What?", "options": ["Tea", "Coffee", "Cake"]},
         {"kind": "yes_no", "label": "Again?"},
         {"kind": "text", "label": "Why?"}]
        """

    init() async throws {
        keys = try KeyRing([KeyRing.line("mine", 7)])
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await change(
            """
            INSERT INTO people.people (email, birth_date, age_verified_at, quiet_from, quiet_until)
            SELECT 'person' || n || '@example.org', '1990-05-17', now(), NULL, NULL
            FROM generate_series(1, 3) AS n;
            INSERT INTO establishments.establishments (name) VALUES ('Cafe'), ('Bakery');
            INSERT INTO establishments.branches (establishment_id, name, place)
            SELECT n, 'Branch ' || n, st_setsrid(st_makepoint(-73.6, 45.5), 4326)::geography
            FROM generate_series(1, 2) AS n
            """)
    }

    func remove() {
        keys.remove()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The path of a file that does not exist yet.
    func path(_ name: String) -> String { folder.appending(path: name).path }

    /// Runs `errand survey` with the keys.
    func survey(
        _ words: String..., input: String? = nil, at place: SourceLocation = #_sourceLocation
    ) async throws -> Run {
        try await survey(words, input: input, at: place)
    }

    func survey(
        _ words: [String], input: String? = nil, at place: SourceLocation = #_sourceLocation
    ) async throws -> Run {
        try await errand(
            ["survey"] + words, input: input, environment: keys.environment, at: place)
    }

    /// Puts a survey with all kinds of questions.
    func put(
        _ id: Int, establishment: Int = 1, title: String = "Your visit", _ others: String...
    ) async throws -> Run {
        try await survey(
            [
                "put", "\(id)", "--establishment", "\(establishment)", "--title", title,
                "--minutes", "4", "--paid", "500", "--cut", "300", "--questions", "-",
            ] + others, input: Self.questions)
    }

    /// The id of a new invitation of a person.
    func invited(_ person: Int = 1, to survey: Int = 12) async throws -> Int {
        try await number(
            """
            SELECT invitation_id FROM surveys.invite(\(person), \(survey), 'test',
                gen_random_uuid()::text)
            """)
    }

    /// The id of a new invitation that a person has completed.
    func completed(
        _ person: Int = 1, survey: Int = 12, seconds: Int = 200,
        answers: String = #"{"1": 4, "2": 2, "3": [1, 3], "4": true, "5": "My word"}"#
    ) async throws -> Int {
        let id = try await invited(person, to: survey)
        let count = try await number(
            """
            SELECT count(*) FROM surveys.complete(\(person), \(id), '\(answers)', \(seconds), 'r1')
            WHERE reason = 'ok'
            """)
        #expect(count == 1)
        return id
    }
}

/// Works on a new ground.
func withSurveys(_ body: (SurveyGround) async throws -> Void) async throws {
    let ground = try await SurveyGround()
    defer { ground.remove() }
    try await body(ground)
}

extension AppCommands {
    @Suite("errand survey") struct SurveyTests {
        @Test func `put adds a survey, a change is a version, close asks first`() async throws {
            try await withSurveys { ground in
                try await errand("survey", "ls").expect(0, "no surveys match")
                try await errand("survey", "show", "12").expect(3, "'errand survey ls'")
                let first = try await ground.put(12, title: "Your visit", "-ojson")
                first.expect(0)
                let record = try first.record
                #expect(record["version"] == 1 && record["state"] == "open")
                #expect(record["cut"] == 300 && record["for_receipts"] == true)
                #expect(record["questions"].elements.count == 5)
                #expect(try await ground.put(12, "-ojson").record["version"] == 1)
                let other = try await ground.put(
                    12, title: "Your last visit", "--coupon-title", "A tea", "-ojson")
                #expect(try other.record["version"] == 2)
                #expect(try other.record["coupon_days"] == 30)
                // Another one for the same receipts, another's survey, a stranger, no question.
                try await ground.put(13).expect(4, "another open survey of establishment 1")
                try await ground.put(12, establishment: 2).expect(4, "belongs to establishment 1")
                try await ground.put(14, establishment: 9).expect(3, "establishment")
                try await ground.put(13, "--no-receipts").expect(0)
                try await ground.survey(
                    "put", "15", "--establishment", "2", "--title", "T", "--minutes", "1",
                    "--paid", "1", "--cut", "2", "--questions", "-", input: "[]"
                ).expect(2, "expected")

                let list = try await errand("survey", "ls", "-ojson")
                #expect(try list.records.map { $0["id"].id } == ["13", "12"])
                let table = try await errand("survey", "ls", "--limit", "1")
                table.expect(0, "more: errand survey ls --limit 1 --cursor 13")
                #expect(table.lines[0].hasPrefix("ID  ESTABLISHMENT"))
                try await errand("survey", "close", "12")
                    .expect(5, "not confirmed: close survey 12")
                try await errand("survey", "close", "12", "--yes", "--reason", "over").expect(0)
                try await errand("survey", "close", "12").expect(0, "was already closed")
                try await errand("survey", "close", "99", "--yes").expect(3)
                for (words, ids) in [
                    (["--state", "closed"], ["12"]), (["--state", "open"], ["13"]),
                    (["--establishment", "2"], []),
                ] as [([String], [String])] {
                    let run = try await errand(["survey", "ls", "-ojson"] + words)
                    #expect(try run.records.map { $0["id"].id } == ids)
                }
                let audit = try await errand("audit", "ls", "--action", "survey close", "-ojson")
                #expect(try audit.records.map { $0["reason"] } == ["over"])
                try await errand("survey", "shwo").expect(2, "did you mean")
            }
        }

        @Test func `invitations are listed, and expired ones count as such before the sweep`()
            async throws
        {
            try await withSurveys { ground in
                try await ground.put(12).expect(0)
                try await errand("survey", "invitations").expect(0, "no invitations match")
                let (open, late) = (
                    try await ground.invited(1), try await ground.invited(2)
                )
                let done = try await ground.completed(3)
                try await change(
                    """
                    UPDATE surveys.invitations SET invited_at = now() - interval '2 days',
                        expires_at = now() - interval '1 day' WHERE id = \(late)
                    """)
                for (words, ids) in [
                    ([], [done, late, open]), (["--person", "1"], [open]),
                    (["--state", "expired"], [late]), (["--state", "open"], [open]),
                    (["--survey", "12", "--state", "completed"], [done]),
                    (["--establishment", "2"], []), (["--cursor", "\(late)"], [open]),
                ] as [([String], [Int])] {
                    let run = try await errand(["survey", "invitations", "-ojson"] + words)
                    #expect(try run.records.map { Int($0["id"].id) } == ids, "\(words)")
                }
                let table = try await errand("survey", "invitations")
                #expect(table.lines[0].hasPrefix("ID  PERSON  SURVEY"))
                let shown = try await errand("survey", "show", "12", "-ojson").record
                #expect(
                    shown["open"] == 1 && shown["completed"] == 1 && shown["expired"] == 1)
                try await errand("survey", "expire").expect(0)
                #expect(
                    try await number(
                        "SELECT count(*) FROM surveys.invitations WHERE state = 'expired'") == 1)
            }
        }

        @Test func `answers hide what was written, and --reveal is on the record`() async throws {
            try await withSurveys { ground in
                try await ground.put(12).expect(0)
                let (open, done) = (try await ground.invited(1), try await ground.completed(2))
                try await errand("survey", "answers", "999").expect(3, "no invitation 999")
                try await errand("survey", "answers", "\(open)").expect(3, "is open")
                let hidden = try await errand("survey", "answers", "\(done)", "-ojson")
                hidden.expect(0)
                #expect(!hidden.output.contains("My word"))
                let answers = try hidden.record["answers"].elements
                #expect(
                    answers.map { $0["answer"].text } == [
                        "4", "Evening", "Tea, Cake", "yes", "(hidden, 7 characters)",
                    ])
                #expect(answers.map { $0["number"].number } == [1, 2, 3, 4, 5])
                let shown = try await errand(
                    "survey", "answers", "\(done)", "--reveal", "--reason", "ticket 8")
                shown.expect(0)
                #expect(shown.output.contains("My word"))
                try await errand("survey", "answers", "\(done)", "--reason", "x")
                    .expect(2, "--reason requires --reveal")
                let audit = try await errand("audit", "ls", "-ojson").records
                #expect(
                    audit.contains {
                        $0["subject"] == .text("answers of invitation \(done)")
                            && $0["reason"] == "ticket 8"
                    })
            }
        }

        @Test func `review lists what waits, and takes verdicts`() async throws {
            try await withSurveys { ground in
                try await ground.put(12).expect(0)
                try await errand("survey", "review").expect(0, "no answers wait for a review")
                let (one, other) = (
                    try await ground.completed(1, seconds: 3), try await ground.completed(2)
                )
                try await change(
                    """
                    INSERT INTO surveys.reviews (invitation_id, sampled_at, flags) VALUES
                        (\(one), now(), '{hasty}'), (\(other), now() - interval '8 days', '{}');
                    UPDATE surveys.completions SET state = 'review'
                    """)
                let all = try await errand("survey", "review", "-ojson")
                #expect(
                    try all.records.map { Int($0["invitation"].id) } == [other, one])
                let flagged = try await errand("survey", "review", "--flagged", "-ojson")
                #expect(try flagged.records.map { Int($0["invitation"].id) } == [one])
                #expect(try flagged.record["seconds_spent"] == 3)
                let table = try await errand("survey", "review", "--limit", "1")
                table.expect(0, "more: errand survey review --limit 1 --cursor \(other)")
                let fault = try #require(
                    try await fault("answers that have waited for a review for a week: 1"))
                #expect(fault.remedy == "errand survey review")

                let words = ["survey", "review", "\(one)"]
                try await errand(words).expect(2, "INVITATION needs --verdict")
                try await errand(words + ["--verdict", "bad"]).expect(2, "needs --reason")
                try await errand("survey", "review", "--verdict", "good").expect(2, "INVITATION")
                try await errand(words + ["--verdict", "bda"]).expect(2, "did you mean 'bad'?")
                try await errand(words + ["--verdict", "bad", "--reason", "hasty"])
                    .expect(5, "not confirmed")
                let judged = try await errand(
                    words + ["--verdict", "bad", "--reason", "hasty", "--yes", "-ojson"])
                judged.expect(0)
                #expect(try judged.record["verdict"] == "bad")
                #expect(try judged.record["state"] == "rejected")
                #expect(try judged.record["actor"] == "tester")
                try await errand(words + ["--verdict", "bad", "--reason", "hasty", "--yes"])
                    .expect(0, "the same verdict")
                try await errand("survey", "review", "\(other)", "--verdict", "good").expect(0)
                try await errand("survey", "review", "999", "--verdict", "good").expect(3)
                try await errand("survey", "review").expect(0, "no answers wait")
                #expect(
                    try await number("SELECT count(*) FROM missions.reviews WHERE is_good") == 1)
            }
        }

        @Test func `a month is simulated without a server, the same for the same seed`()
            async throws
        {
            let bare = ["DATABASE_URL": "", "REDIS_URL": ""]
            let words = ["survey", "simulate", "--people", "100", "--days", "14", "--seed", "3"]
            let run = try await errand(words + ["-ojson"], environment: bare)
            run.expect(0)
            let records = try run.records
            #expect(records.map { $0["week"].text } == ["1", "2", "all"])
            for name in ["given", "completed", "expired", "rewards", "coupons", "badges"] {
                let numbers = records.map { $0[name].number ?? -1 }
                #expect(numbers[0] + numbers[1] == numbers[2], "\(name)")
            }
            let again = try await errand(words + ["-ojson"], environment: bare)
            #expect(again.output == run.output)
            try await errand(words, environment: bare).expect(0, "open at the end")
            try await errand("survey", "simulate", "--people", "0", environment: bare)
                .expect(2, "--people")
        }
    }
}
