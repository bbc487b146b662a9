import Foundation
import Glibc
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand coupon: codes that turn") struct CouponEpochTests {
        @Test func `rotate makes epochs, and --replace destroys all secrets`() async throws {
            try await withCoupons { ground in
                try await errand("coupon", "rotate")
                    .expect(2, "ERRAND_KEYS_FILE is not set", "'errand key new'")
                try await errand("coupon", "epochs").expect(0, "no epochs: start a worker")
                let first = try await ground.coupon("rotate", "-ojson")
                first.expect(0)
                #expect(try first.record["result"] == "rotated" && first.record["opened"] == 0)
                let epochs = try await ground.coupon("epochs", "-ojson").records
                #expect(try first.record["created"].number == Double(epochs.count))
                #expect(Set(epochs.map { $0["series"].text }) == ["qr", "typed"])
                #expect(epochs.filter { $0["state"] == "present" }.count == 2)
                #expect(epochs.allSatisfy { $0["key"] == "mine" && $0["is_open"] == true })
                let table = try await ground.coupon("epochs")
                #expect(table.lines[0].hasPrefix("SERIES  STARTS AT"))
                #expect(!table.output.contains("\\x"))
                // A crash of the server empties the table.
                try await change("TRUNCATE coupons.open_secrets")
                let opened = try await ground.coupon("rotate", "-ojson")
                // One of each series may have ended meanwhile, and another been made.
                let open = try #require(try opened.record["opened"].number)
                #expect(abs(open - Double(epochs.count)) <= 2)

                try await ground.coupon("rotate", "--replace").expect(2, "--replace needs --reason")
                try await ground.coupon("rotate", "--replace", "--reason", "leak")
                    .expect(5, "not confirmed: replace all secrets")
                let new = try await ground.coupon(
                    "rotate", "--replace", "--reason", "leak", "--yes", "-ojson")
                new.expect(0)
                #expect(try new.record["destroyed"].number ?? 0 >= Double(epochs.count))
                let audit = try await errand("audit", "ls", "--action", "coupon rotate", "-ojson")
                #expect(try audit.records[0]["subject"] == "all codes, replaced")
                #expect(try audit.records[0]["reason"] == "leak")
            }
        }

        @Test func `bursts of guesses are listed, and the doctor tells of them`() async throws {
            try await withCoupons { ground in
                try await errand("coupon", "alerts").expect(0, "no alerts match")
                let id = try await ground.granted()
                _ = try await ground.codes(of: id)
                try await change("UPDATE coupons.guess_limits SET alert = 2")
                for _ in 0..<3 {
                    try await ground.coupon(
                        "verify", "0000-0000-00000", "--establishment", "2", "--terminal", "bar"
                    ).expect(3)
                }
                let run = try await errand("coupon", "alerts", "-ojson")
                let alert = try run.record
                #expect(alert["establishment_name"] == "Bakery" && alert["terminal"] == "bar")
                #expect(alert["guesses"] == 2)
                for (words, count) in [
                    (["--newer", "1h"], 1), (["--establishment", "1"], 0),
                    (["--cursor", alert["id"].id], 0),
                ] {
                    let run = try await errand(["coupon", "alerts", "-ojson"] + words)
                    #expect(try run.records.count == count)
                }
                let table = try await errand("coupon", "alerts", "--limit", "1")
                table.expect(0, "more: errand coupon alerts --limit 1 --cursor")
                #expect(table.lines[0].hasPrefix("ID  AT"))
                try await errand("coupon", "alerts", "--newer", "3").expect(2, "a duration")
                let fault = try #require(
                    try await fault("1 burst of wrong codes", environment: ground.keys.environment))
                #expect(fault.found.contains("at Bakery"))
                try await fault.mend()
            }
        }

        /// What the doctor says of codes.
        private func finding(_ ground: CouponGround) async throws -> (severity: JSON, text: String)
        {
            let run = try await errand("doctor", "-ojson", environment: ground.keys.environment)
            let records = try run.records.filter { $0["check"] == "codes" }
            return (
                records.first?["severity"] ?? .null, records.first?["message"].text ?? "nothing"
            )
        }

        /// Deletes the epochs of QR codes that start at these times.
        private func delete(_ starts: String) async throws {
            try await change(
                """
                DELETE FROM coupons.open_secrets WHERE series = 'qr' AND starts_at IN (\(starts));
                DELETE FROM coupons.epochs WHERE series = 'qr' AND starts_at IN (\(starts))
                """)
        }

        /// Pastes the line that mends what was found.
        private func mend(_ words: String, _ ground: CouponGround) async throws {
            let fault = try #require(await fault(words, environment: ground.keys.environment))
            try await fault.mend(environment: ground.keys.environment)
        }

        @Test func `the doctor tells when codes do not turn, and what mends it`() async throws {
            try await withCoupons { ground in
                #expect(try await finding(ground) == ("ok", "no coupons need codes"))
                _ = try await ground.granted()
                var found = try await finding(ground)
                #expect(found.severity == "warning" && found.text.contains("no worker has ever"))
                #expect(
                    try await fault("no worker has ever")?.remedy.hasPrefix(
                        "ERRAND_KEYS_FILE=FILE errand coupon rotate") == true)
                try await mend("no worker has ever", ground)
                found = try await finding(ground)
                // One epoch may have begun since the rotation.
                #expect(found.severity == "ok")
                #expect(found.text.contains(/qr every 30s, (19|20) of 20 ahead/))
                try await change("TRUNCATE coupons.open_secrets")
                found = try await finding(ground)
                #expect(found.severity == "critical" && found.text.contains("are sealed"))
                try await mend("are sealed", ground)
                #expect(try await finding(ground).severity == "ok")
                // So late is it that four epochs are left, and then none.
                try await delete(
                    """
                    SELECT starts_at FROM coupons.epochs
                    WHERE series = 'qr' AND starts_at > now() ORDER BY starts_at OFFSET 4
                    """)
                found = try await finding(ground)
                #expect(
                    found.severity == "warning" && found.text.contains(/[34] of 20 epochs of qr/))
                try await delete(
                    "SELECT starts_at FROM coupons.epochs WHERE series = 'qr' AND starts_at > now()"
                )
                try await change(
                    """
                    UPDATE coupons.epochs SET starts_at = starts_at - interval '5 minutes'
                    WHERE series = 'qr'
                    """)
                found = try await finding(ground)
                #expect(found.severity == "critical" && found.text.contains("have not rotated"))
                try await mend("have not rotated", ground)
                #expect(try await finding(ground).severity == "ok")
            }
        }

        @Test func `a worker without keys says once that codes do not turn by it`() async throws {
            let said = "this worker does not rotate coupon codes"
            let keys = try KeyRing([KeyRing.line("mine", 7)])
            defer { keys.remove() }
            let words = ["work", "--drain", "--queues"]
            let without = try await errand(words + ["coupons"])
            without.expect(0, said, "ERRAND_KEYS_FILE")
            #expect(without.errors.components(separatedBy: said).count == 2)
            let others = [
                try await errand(words + ["coupons"], environment: keys.environment),
                try await errand(words + ["mail"]),
            ]
            for run in others {
                run.expect(0)
                #expect(!run.errors.contains(said))
            }
        }
    }
}
