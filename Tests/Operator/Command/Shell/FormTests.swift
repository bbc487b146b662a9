import Foundation
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Forms of output") struct FormTests {
        private static func rows(_ text: String) async throws -> [[String]] {
            let script = "import csv,json,sys; print(json.dumps(list(csv.reader(sys.stdin))))"
            let program = try start(
                [], input: text, through: ["/usr/bin/env", "python3", "-c", script])
            let run = try await finish(program)
            return try JSONDecoder().decode([[String]].self, from: Data(run.output.utf8))
        }

        @Test func `CSV is read back as what JSON says`() async throws {
            try await made("enqueue", "demo.noop", #"{"a": "x,\"y\""}"#, "--tag", "a,b")
            try await made("queue", "pause", "default", "--reason", "a, \"b\"\nc")
            for arguments in [["queue", "ls"], ["job", "ls"], ["job", "show", "1"]] {
                let csv = try await errand(arguments + ["-o", "csv"])
                csv.expect(0)
                #expect(csv.output.hasSuffix("\r\n"))
                let json = try await errand(arguments + ["-o", "json"])
                let record = try json.record
                let rows = try await Self.rows(csv.output)
                try #require(rows.count == 2)
                #expect(Set(rows[0]) == record.names)
                for (name, value) in zip(rows[0], rows[1]) {
                    if let text = record[name].text { #expect(value == text) }
                    if record[name] == .null { #expect(value == "") }
                    if let number = record[name].number { #expect(Double(value) == number) }
                }
            }
        }

        @Test func `what a job says is no formula in a spreadsheet`() async throws {
            let key = "=HYPERLINK(\"http://example.org\")"
            let job = try await made("enqueue", "demo.noop", "--in", "1h", "--unique", key)["id"]
            let run = try await errand("job", "ls", "--columns", "id,unique_key", "-ocsv")
            let rows = try await Self.rows(run.output)
            #expect(rows == [["id", "unique_key"], [job.id, "'" + key]])
        }

        @Test func `a name can be pasted into the next command`() async throws {
            let job = try await made("enqueue", "demo.noop")
            let ids = try await errand("job", "ls", "-o", "name")
            #expect(ids.output == job["id"].id + "\n")
            try await errand("job", "show", String(ids.lines[0])).expect(0)
            let queues = try await errand("queue", "ls", "--output", "name")
            #expect(queues.output == "default\n")
            let shown = try await errand("queue", "show", "default", "-oname")
            #expect(shown.output == "default\n")
        }

        @Test func `wide has every column that JSON names`() async throws {
            try await made("enqueue", "demo.noop")
            let wide = try await errand("queue", "ls", "-o", "wide")
            let names = try await errand("queue", "ls", "-o", "json").record.names
            wide.expect(0)
            #expect(wide.lines[0].contains("PAUSED UNTIL"))
            #expect(wide.lines[0].contains("ESTIMATED"))
            #expect(names.contains("paused_until"))
        }

        @Test(arguments: ["table", "wide", "csv", "json"])
        func `columns are chosen, and a wrong one names the others`(form: String) async throws {
            try await made("enqueue", "demo.noop")
            let two = try await errand("queue", "ls", "--columns", "dead,queue", "-o", form)
            two.expect(0)
            #expect(!two.output.lowercased().contains("running"))
            if form == "json" { #expect(two.output == "{\"dead\":0,\"queue\":\"default\"}\n") }
            if form == "csv" { #expect(two.output == "dead,queue\r\n0,default\r\n") }
            if form == "table" { #expect(two.output == "DEAD  QUEUE\n   0  default\n") }
            let wrong = try await errand("queue", "ls", "--columns", "queu", "-o", form)
            wrong.expect(2, "there is no column 'queu'", "columns: queue, ")
            #expect(wrong.output == "")
        }

        @Test func `without records no column is wrong, and CSV has its header`() async throws {
            let columns = ["job", "ls", "--columns", "id,created_at"]
            let csv = try await errand(columns + ["-ocsv"])
            csv.expect(0)
            #expect(csv.output == "id,created_at\r\n")
            for form in ["json", "name"] {
                let run = try await errand(columns + ["-o", form])
                run.expect(0)
                #expect(run.output == "")
            }
            try await errand(columns).expect(0, "no jobs match")
        }

        @Test func `a change is made although a column is not there`() async throws {
            try await made("enqueue", "demo.noop")
            let run = try await errand("queue", "pause", "default", "--columns", "nothing")
            run.expect(0, "there is no column 'nothing'")
            #expect(
                try await number("SELECT count(*) FROM errand.queues WHERE paused_at IS NOT NULL")
                    == 1)
        }

        @Test func `without headers there are rows only`() async throws {
            try await made("enqueue", "demo.noop")
            let arguments = ["queue", "ls", "--no-headers", "--columns", "queue"]
            #expect(try await errand(arguments).output == "default\n")
            #expect(try await errand(arguments + ["-ocsv"]).output == "default\r\n")
        }

        @Test func `quiet keeps results and errors only`() async throws {
            try await errand("worker", "ls").expect(0, "no worker is running")
            let quiet = try await errand("worker", "ls", "--quiet")
            #expect(quiet.errors == "")
            try await errand("queue", "show", "x", "-q").expect(3, "there is no queue x")
        }

        @Test func `colour comes when asked for, and on a terminal unless unwanted`() async throws {
            try await made("enqueue", "demo.noop")
            #expect(try await !errand("queue", "ls").output.contains("\u{1B}"))
            #expect(try await errand("queue", "ls", "--color=always").output.contains("\u{1B}["))
            let shown = try await onTerminal(
                "queue", "ls", steps: [], environment: ["NO_COLOR": "", "TERM": "xterm"])
            #expect(shown.output.contains("\u{1B}[1m"))
            let plain = try await onTerminal(
                "queue", "ls", steps: [], environment: ["NO_COLOR": "1", "TERM": "xterm"])
            #expect(!plain.output.contains("\u{1B}"))
        }

        @Test(arguments: [(24, 80), (50, 200)])
        func `tables fit the terminal`(rows: Int, columns: Int) async throws {
            let reason = String(repeating: "long ", count: 60)
            try await made("enqueue", "demo.noop", "{\"text\": \"\(reason)\"}")
            try await made("queue", "pause", "default", "--reason", reason)
            for words in [["queue", "ls"], ["job", "ls"], ["audit", "ls"], ["status", "-q"]] {
                let run = try await onTerminal(
                    words[0], words.last ?? "", steps: [], rows: rows, columns: columns,
                    environment: ["TZ": "Asia/Kolkata"])
                #expect(run.code == 0)
                for line in run.text.split(separator: "\n") {
                    #expect(line.count <= columns, "\(line)")
                }
            }
        }

        @Test func `people see local times with their offset, programs UTC`() async throws {
            let kolkata = ["TZ": "Asia/Kolkata"]
            func output(_ arguments: String...) async throws -> String {
                try await errand(["migrate", "status"] + arguments, environment: kolkata).output
            }
            #expect(try await output().contains("+05:30\n"))
            #expect(try await output("-owide").contains("+05:30"))
            let universal = try await output("--utc")
            #expect(!universal.contains("+05:30") && universal.contains("Z\n"))
            for form in ["json", "csv"] {
                #expect(try await !output("-o", form).contains("+05:30"))
            }
            for zone in ["Nowhere/Such", "UTC", "/etc/passwd", "CET-1CEST,M3.5.0,M10.5.0"] {
                let run = try await errand("migrate", "status", environment: ["TZ": zone])
                run.expect(0)
                #expect(run.output.contains("Z\n"), "\(zone)")
            }
            let colon = try await errand(
                "migrate", "status", environment: ["TZ": ":Asia/Kolkata"])
            #expect(colon.output.contains("+05:30\n"))
        }

        @Test(arguments: [["queue", "ls", "-o", "jsn"], ["completion", "bsh"]])
        func `a mistyped choice gets the nearest one`(arguments: [String]) async throws {
            let meant = arguments[0] == "queue" ? "json" : "bash"
            try await errand(arguments).expect(2, "did you mean '\(meant)'?")
        }

        @Test func `a log level that is not there is an error`() async throws {
            for arguments in [
                ["work", "--drain"], ["enqueue", "demo.noop"], ["schedule", "tick"],
            ] {
                try await errand(arguments, environment: ["ERRAND_LOG": "wraning"]).expect(
                    2, "ERRAND_LOG=wraning", "did you mean warning?", "debug, info, warning, error")
            }
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
        }
    }
}
