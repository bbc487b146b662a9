import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand mission") struct MissionTests {
        /// `mission solve` needs no server.
        private static let bare = ["DATABASE_URL": "", "REDIS_URL": ""]
        /// The greedy method gives mission 1 to shopper 7 and leaves mission 2 without a shopper.
        private static let contested = """
            {"missions": [{"id": 2, "slots": 1}, {"id": 1, "slots": 1}, {"slots": 2, "id": 3}],
             "shoppers": [{"id": 7, "capacity": 1}, {"id": -8, "capacity": 1}],
             "edges": [{"mission": 1, "shopper": 7, "score": 10},
                       {"mission": 1, "shopper": -8, "score": 9},
                       {"mission": 2, "shopper": 7, "score": 8},
                       {"score": -9223372036854775808, "mission": 3, "shopper": 7}]}
            """

        private func solve(
            _ instance: String, _ options: String..., at place: SourceLocation = #_sourceLocation
        ) async throws -> Run {
            try await errand(
                ["mission", "solve", "--instance", "-"] + options, input: instance,
                environment: Self.bare, at: place)
        }

        @Test func `prints an assignment a line, and a summary`() async throws {
            let run = try await solve(Self.contested, "--output", "json")
            run.expect(0)
            #expect(run.errors.isEmpty)
            #expect(
                run.lines.prefix(2) == [
                    #"{"mission":1,"shopper":-8,"score":9}"#,
                    #"{"mission":2,"shopper":7,"score":8}"#,
                ])
            let summary = try #require(try run.records.last)
            #expect(summary["filled"] == 2)
            #expect(summary["unfilled"] == 2)
            #expect(summary["no_candidates"] == 1)
            #expect(summary["all_taken"] == 0)
            #expect(summary["not_worth_it"] == 1)
            #expect(
                summary["unfilled_missions"].elements.map { $0["reason"] }
                    == ["not_worth_it", "no_candidates"])
            #expect(summary["total_score"] == 17)
            #expect(summary["bound"] == 17)
            #expect(summary["is_optimal"] == true)
            #expect(summary["seconds"].number != nil)
        }

        @Test func `greedy and a search out of time report an upper bound`() async throws {
            let greedy = try await solve(Self.contested, "--greedy", "-ojson")
            greedy.expect(0)
            let summary = try #require(try greedy.records.last)
            #expect(summary["total_score"] == 10)
            #expect(summary["bound"] == 18)
            #expect(summary["is_optimal"] == false)
            #expect(summary["all_taken"] == 1)
            let late = try await solve(Self.contested, "--limit", "0s", "-ojson")
            late.expect(0, "the search reached its time limit")
            #expect(try late.records.last?["bound"] == 18)
            #expect(try late.records.last?["total_score"] == 10)
            let timely = try await solve(Self.contested, "--limit", "1h", "-ojson")
            timely.expect(0)
            #expect(try timely.records.last?["is_optimal"] == true)
        }

        @Test func `prints a table and describes the free slots`() async throws {
            let run = try await solve(Self.contested)
            run.expect(
                0, "2 of 4 slots filled; total score 17 (optimal)",
                "of mission 3")
            #expect(run.lines[0].hasPrefix("MISSION  SHOPPER  SCORE"))
            let greedy = try await solve(Self.contested, "--greedy")
            greedy.expect(0, "total score 10 (upper bound 18)")
            try await solve(Self.contested, "--greedy", "--limit", "1s")
                .expect(2, "cannot be combined")
            let chosen = try await solve(Self.contested, "-ocsv", "--columns", "shopper")
            chosen.expect(0)
            #expect(chosen.output == "shopper\r\n-8\r\n7\r\n")
        }

        @Test func `reads a file, and reports a missing one`() async throws {
            let file = FileManager.default.temporaryDirectory
                .appending(path: "instance-\(UUID().uuidString).json")
            try Data(Self.contested.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let run = try await errand(
                "mission", "solve", "--instance", file.path, "-oname", environment: Self.bare)
            run.expect(0)
            #expect(run.output == "1\n2\n")
            try await errand(
                "mission", "solve", "--instance", file.path + ".no", environment: Self.bare
            ).expect(3, "cannot read")
            try await errand("mission", "solve", environment: Self.bare)
                .expect(2, "--instance FILE is required")
        }

        @Test func `an empty instance has an empty result`() async throws {
            let run = try await solve(#"{"edges":[],"missions":[],"shoppers":[]}"#)
            run.expect(0, "nothing can be assigned", "0 of 0 slots")
            #expect(run.output.isEmpty)
        }

        // MARK: Bad instances

        private static func instance(
            missions: String = #"{"id":1,"slots":1}"#,
            shoppers: String = #"{"id":7,"capacity":1}"#,
            edges: String = #"{"mission":1,"shopper":7,"score":5}"#
        ) -> String {
            #"{"missions":[\#(missions)],"shoppers":[\#(shoppers)],"edges":[\#(edges)]}"#
        }

        @Test func `errors name the conflicting rows`() async throws {
            let edge = #"{"mission":1,"shopper":7,"score":5}"#
            for (text, message) in [
                (Self.instance(edges: #"{"mission":2,"shopper":7,"score":5}"#), "mission 2"),
                (Self.instance(edges: #"{"mission":1,"shopper":9,"score":5}"#), "shopper 9"),
                (
                    Self.instance(edges: "\(edge),\(edge)"),
                    "duplicate edge of mission 1 and shopper 7"
                ),
                (
                    Self.instance(missions: #"{"id":1,"slots":1},{"id":1,"slots":2}"#),
                    "duplicate mission 1"
                ),
                (
                    Self.instance(shoppers: #"{"id":7,"capacity":1},{"id":7,"capacity":1}"#),
                    "duplicate shopper 7"
                ),
                (Self.instance(missions: #"{"id":1,"slots":-1}"#), "mission 1 has -1 slots"),
                (Self.instance(shoppers: #"{"id":7,"capacity":-3}"#), "a capacity of -3"),
            ] {
                let run = try await solve(text)
                run.expect(2, "standard input: ", message)
                #expect(run.output.isEmpty)
            }
            let huge = Self.instance(
                edges: #"{"mission":1,"shopper":7,"score":9000000000000000000}"#)
            let run = try await solve(huge, "-ojson")
            run.expect(5, "up to 2305843009213693951 each")
            #expect(try run.failure["code"] == "refused")
        }

        @Test func `errors name the position in an invalid instance`() async throws {
            for (text, message) in [
                ("", "line 1, column 1: expected an object"),
                ("missions", "line 1, column 1: expected an object"),
                ("[]", "expected an object"),
                (#"{"missions":[],"shoppers":[]}"#, #"missing member "edges""#),
                (
                    "{\"missions\":[],\n \"missions\":[]}",
                    #"line 2, column 2: duplicate member "missions""#
                ),
                ("{\"missions\n\":[]}", "line 1, column 11: expected an escaped control"),
                (#"{"missions":[],"people":[]}"#, #"unknown member "people": expected missions, "#),
                (#"{"missions":{}}"#, "expected an array"),
                (#"{"missions":[{"id":1}]}"#, #"missing member "slots""#),
                (#"{"missions":[{"id":1,"slots":1}{}]}"#, "expected a comma or ]"),
                (#"{"missions":[{"id":1,"slots":1},]}"#, "expected an object"),
                (#"{"missions":[{"id":1,"slots":1.5}]}"#, "expected a whole number"),
                (#"{"missions":[{"id":1,"slots":1e3}]}"#, "expected a whole number"),
                (#"{"missions":[{"id":1,"slots":01}]}"#, "expected a whole number"),
                (#"{"missions":[{"id":"1","slots":1}]}"#, "column 20: expected a whole number"),
                (#"{"missions":[{"id":-,"slots":1}]}"#, "expected a whole number"),
                (
                    #"{"missions":[{"id":9223372036854775808,"slots":1}]}"#,
                    "a number that fits into 64 bits"
                ),
                (
                    #"{"missions":[{"id":-9223372036854775809,"slots":1}]}"#,
                    "a number that fits into 64"
                ),
                (#"{"missions":[{"id":1,"slots"#, "a closing quotation mark"),
                (Self.instance() + "}", "expected the end of the text"),
            ] {
                let run = try await solve(text)
                run.expect(2, "standard input, line ", message, "in whole numbers")
                #expect(run.output.isEmpty)
            }
        }
    }
}
