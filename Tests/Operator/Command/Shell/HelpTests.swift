import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Help and usage") struct HelpTests {
        static let commands = [
            "work", "enqueue", "migrate", "migrate status", "job ls", "job show", "job retry",
            "job cancel", "job why", "job run-now", "job reschedule", "job move", "job edit",
            "job discard", "job wait", "job tail", "queue ls", "queue show", "queue pause",
            "queue resume",
            "queue drain", "queue purge", "db prepare", "worker ls",
            "status", "doctor", "schedule ls",
            "schedule show", "schedule add", "schedule edit",
            "schedule rm", "schedule pause", "schedule resume", "schedule trigger",
            "schedule next", "schedule history", "schedule backfill", "schedule tick",
            "schedule run", "context ls", "context show", "context use", "completion", "manual",
            "fields",
            "dead ls", "dead show", "dead group", "dead redrive", "dead discard", "dead export",
            "notification ls", "notification show", "notification trace", "notification why",
            "notification preview", "notification kinds", "notification devices",
            "notification cancel",
            "coupon ls", "coupon show", "coupon code", "coupon qr", "coupon verify",
            "coupon redeem", "coupon grant", "coupon void", "coupon rotate", "coupon epochs",
            "coupon alerts",
            "reward ls", "reward show", "ledger balance", "ledger lines", "ledger show",
            "ledger reverse", "ledger prove", "ledger proofs",
            "payout runs", "payout ls", "payout show", "payout preview", "payout close",
            "payout approve", "payout settle", "payout issue", "payout export",
            "payout return", "payout statement", "payout rules", "payout hold", "payout release",
            "payout void", "payout reissue", "payout payee", "payout enter", "payout voids",
            "payout prove",
            "vote ls", "vote show", "vote close", "vote exceptions", "vote resolve",
            "vote publish", "vote verify", "vote erase",
            "mission ls", "mission show", "mission assign", "mission explain", "mission runs",
            "mission offer",
            "mission withdraw", "mission review", "mission lock", "mission unlock",
            "mission cancel", "mission simulate", "mission solve", "shopper ls", "shopper show",
            "shopper hire", "shopper refuse", "shopper suspend",
            "household ls", "household show", "household balances", "household remind",
            "household chores", "household feed", "household stats",
            "op ls", "op show", "op cancel", "op resume", "audit ls", "key new", "key ls",
            "key rotate",
        ]
        /// Help needs no server.
        private static let bare = ["DATABASE_URL": "", "REDIS_URL": ""]

        @Test func `--help explains the command`() async throws {
            for command in Self.commands {
                let words = command.split(separator: " ").map(String.init)
                let run = try await errand(words + ["--help"], environment: Self.bare)
                run.expect(0)
                #expect(run.errors.isEmpty)
                #expect(run.output.contains("errand \(command)"))
                #expect(run.output.contains("--output"))
                for line in run.lines { #expect(line.count <= 80, "\(line)") }
                let other = try await errand(["help"] + words, environment: Self.bare)
                #expect(other.output == run.output)
            }
        }

        @Test func `the overview names every command`() async throws {
            let run = try await errand("--help", environment: Self.bare)
            run.expect(0)
            for command in Self.commands {
                let noun = command.prefix { $0 != " " }
                #expect(run.output.contains("  \(noun) "), "\(noun)")
            }
            for noun in ["migrate", "job", "queue", "worker", "schedule"] {
                let verbs = try await errand(noun, "--help", environment: Self.bare)
                verbs.expect(0)
            }
            let version = try await errand("--version", environment: Self.bare)
            version.expect(0)
            #expect(version.output.hasPrefix("errand "))
        }

        @Test func `a slip is named with what was meant`() async throws {
            for (arguments, message, hint) in [
                ([], "the command is missing", "'errand --help'"),
                (["jbo"], "there is no command 'jbo'", "did you mean 'errand job'?"),
                (["job"], "'job' needs a verb", "'errand job --help'"),
                (["job", "lst"], "there is no command 'job lst'", "did you mean 'errand job ls'?"),
                (["status", "--outptu", "json"], "there is no option", "did you mean '--output'?"),
                (
                    ["status", "--output", "yaml"], "expected table, wide, json, csv or name",
                    "usage: errand status"
                ),
                (["status", "now"], "takes no argument", "usage: errand status"),
                (
                    ["migrate", "statsu"], "there is no command",
                    "did you mean 'errand migrate status'?"
                ),
            ] {
                let run = try await errand(arguments, environment: Self.bare)
                run.expect(2, "errand: ", message, hint)
                #expect(run.output.isEmpty)
            }
        }

        @Test func `output that nobody reads is no error`() async throws {
            try await made("enqueue", "demo.noop", "--count", "3000")
            let program = try start(
                [],
                through: [
                    "/bin/bash", "-c",
                    "set -o pipefail; \(Program.errand) job ls --limit 3000 | head -n 1",
                ])
            let run = try await finish(program)
            run.expect(0)
            #expect(run.lines[0].contains("ID  KIND"))
        }

        @Test func `output that cannot be written is an error`() async throws {
            let program = try start(
                [], through: ["/bin/bash", "-c", "\(Program.errand) queue ls >/dev/full"])
            try await finish(program).expect(1, "cannot write the output: No space left on device")
        }
    }
}
