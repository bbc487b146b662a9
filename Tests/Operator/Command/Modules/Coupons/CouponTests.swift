import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand coupon: coupons and their lives") struct CouponTests {
        @Test func `ls has the newest first, by filter and page`() async throws {
            try await errand("coupon", "ls").expect(0, "no coupons match")
            try await withCoupons { ground in
                var ids: [String] = []
                for (person, place, day) in [(1, 1, 3), (1, 2, 1), (2, 1, 2), (2, 2, 4)] {
                    ids.append(
                        try await ground.granted(
                            to: person, at: place, expires: "2099-01-0\(day)T00:00:00Z"))
                }
                try await change("SELECT coupons.star(\(ids[0]), 1)")
                try await ground.coupon("void", ids[3], "--reason", "a slip", "--yes").expect(0)
                func listed(_ words: String...) async throws -> [String] {
                    let run = try await errand(["coupon", "ls", "-ojson"] + words)
                    run.expect(0)
                    return try run.records.map { $0["id"].id }
                }
                #expect(try await listed() == ids.reversed())
                #expect(try await listed("--person", "1") == [ids[1], ids[0]])
                #expect(try await listed("--person", "1", "--cursor", ids[1]) == [ids[0]])
                #expect(try await listed("--establishment", "2") == [ids[3], ids[1]])
                #expect(try await listed("--state", "voided") == [ids[3]])
                #expect(try await listed("--state", "expired,redeemed") == [])
                #expect(try await listed("--starred") == [ids[0]])
                #expect(try await listed("--cursor", ids[2]) == [ids[1], ids[0]])
                // By their ends, because only such are wanted as may still be used.
                let soon = ["--state", "usable", "--expires-before", "2099-01-03T00:00:01Z"]
                #expect(
                    try await errand(["coupon", "ls", "-oname"] + soon).output
                        == [ids[1], ids[2], ids[0], ""].joined(separator: "\n"))
                let first = try await errand(["coupon", "ls", "--limit", "2"] + soon)
                first.expect(0, "--limit 2", "--cursor \(ids[2])")
                #expect(first.lines[0].hasPrefix("ID  PERSON  ESTABLISHMENT  TITLE     STATE "))
                #expect(first.lines[1].contains("Bakery"))
                #expect(
                    try await listed(
                        "--state", "usable", "--expires-after", "2099-01-01T00:00:00Z",
                        "--cursor", ids[2]) == [ids[0]])
                for words in [
                    ["--state", "lost"], ["--person", "kim"], ["--expires-before", "soon"],
                    ["--limit", "0"],
                ] {
                    try await errand(["coupon", "ls"] + words).expect(2, words[0])
                }
                try await errand(
                    "coupon", "ls", "--expires-before", "2026-01-01T00:00:00Z", "--expires-after",
                    "2026-02-01T00:00:00Z"
                ).expect(2, "no coupon expires before", "must be later")
            }
        }

        @Test func `a listing that finds little says how far it looked`() async throws {
            try await withCoupons { ground in
                let first = try await ground.granted(at: 2)
                try await change(
                    """
                    INSERT INTO coupons.coupons (person_id, establishment_id, title, expires_at)
                    SELECT 1, 1, 'many', '2099-01-01Z' FROM generate_series(1, 100000)
                    """)
                let words = ["coupon", "ls", "--establishment", "2"]
                let run = try await errand(words)
                run.expect(0, "no matches so far", "stopped after 100,000 coupons, at id 2;")
                let next = try await errand(words + ["--cursor", "2", "-oname"])
                #expect(next.output == first + "\n")
            }
        }

        @Test func `show tells the life of a coupon, and never its codes`() async throws {
            try await withCoupons { ground in
                let id = try await ground.granted(origin: "survey:12")
                let codes = try await ground.codes(of: id)
                try await ground.coupon(
                    "redeem", codes.payload, "--establishment", "1", "--terminal", "bar",
                    "--request-id", "r-1"
                ).expect(0)
                try await eventually("the person to be told") {
                    try await errand("work", "--drain", "--queues", "coupons,notices").expect(0)
                    let sql =
                        "SELECT count(*) FROM notification.notices WHERE decided_at IS NOT NULL"
                    return try await number(sql) == 1
                }
                let run = try await errand("coupon", "show", id, "-ojson")
                run.expect(0)
                let record = try run.record
                #expect(record["state"] == "redeemed" && record["origin"] == "survey:12")
                #expect(record["terminal"] == "bar" && record["request_id"] == "r-1")
                #expect(record["confirmation"].text?.count == 9)
                #expect(record["notices"].elements.map { $0["kind"] } == ["coupon.redeemed"])
                let card = try await errand("coupon", "show", id)
                for text in ["establishment name  Cafe", "coupon.redeemed", "terminal"] {
                    #expect(card.output.contains(text))
                }
                for output in [run.output, card.output] {
                    #expect(!output.contains(codes.payload) && !output.contains(codes.typed))
                }
                try await errand("coupon", "show", "99").expect(3, "there is no coupon 99")
                try await errand("coupon", "show", "x").expect(2, "expected a whole number")
            }
        }

        @Test func `grant gives one coupon for an origin, and says what is wrong`() async throws {
            try await withCoupons { ground in
                func granted(
                    _ person: String, _ changed: [String: String] = [:]
                ) async throws -> Run {
                    let options = [
                        "--person": person, "--establishment": "1", "--title": "A coffee",
                        "--expires": "2099-01-01T00:00:00Z", "--origin": "mission:7",
                        "--reason": "ticket 88",
                    ].merging(changed) { $1 }
                    return try await errand(
                        ["coupon", "grant", "-ojson"] + options.flatMap { [$0, $1] })
                }
                let first = try await granted("1")
                first.expect(0)
                #expect(try first.record["result"] == "granted" && first.record["id"] == 1)
                let again = try await granted("1")
                again.expect(0, "already has a coupon of this origin")
                #expect(try again.record["result"] == "existing" && again.record["id"] == 1)
                try await granted("1", ["--expires": "2098-01-01T00:00:00Z"]).expect(
                    4, "known with other content: coupon 1", "'errand coupon show 1'")
                let second = try await granted("2").record
                #expect(second["result"] == "granted" && second["id"] != 1)
                let noted = """
                    SELECT count(*) FROM errand.audit
                    WHERE action = 'coupon grant' AND reason = 'ticket 88'
                    """
                #expect(try await number(noted) == 2)
                try await granted("9").expect(3, "there is no person 9")
                let rows: [(name: String, value: String, code: Int32, said: String)] = [
                    ("--establishment", "9", 3, "there is no establishment 9"),
                    ("--expires", "2020-01-01T00:00:00Z", 2, "would never be valid"),
                    ("--expires", "tomorrow", 2, "expected an RFC 3339 time"),
                    ("--title", "two\nlines", 2, "1 to 200 characters in one line"),
                    ("--valid-from", "2100-01-01T00:00:00Z", 2, "would never be valid"),
                ]
                for row in rows {
                    let run = try await granted("1", ["--origin": "new", row.name: row.value])
                    run.expect(row.code, row.said)
                }
            }
        }

        @Test func `grant refuses who is blocked, too young or of unknown age`() async throws {
            try await withCoupons { _ in
                try await change(
                    """
                    INSERT INTO people.people (id, birth_date, blocked_at)
                    VALUES (21, NULL, NULL), (22, '2020-01-01', NULL), (23, '1990-01-01', now())
                    """)
                for (person, words) in [
                    ("21", "the birth date is missing"), ("22", "under 16"),
                    ("23", "blocked until their erasure"),
                ] {
                    try await errand(
                        "coupon", "grant", "--person", person, "--establishment", "1", "--title",
                        "A coffee", "--expires", "2099-01-01T00:00:00Z"
                    ).expect(5, words)
                }
            }
        }

        @Test func `void is for good, idempotent, and not for what was redeemed`() async throws {
            try await withCoupons { ground in
                let ids = [try await ground.granted(), try await ground.granted()]
                let words = ["coupon", "void", "--reason"]
                try await errand(words + ["printed twice", ids[0]])
                    .expect(5, "not confirmed: void coupon \(ids[0])", "pass --yes")
                for (reason, result) in [("printed twice", "voided"), ("again", "already")] {
                    let run = try await errand(words + [reason, ids[0], "--yes", "-ojson"])
                    run.expect(0)
                    #expect(try run.record["result"] == .text(result))
                }
                let shown = try await made("coupon", "show", ids[0])
                #expect(shown["voided_reason"] == "printed twice" && shown["state"] == "voided")
                let audit = try await errand("audit", "ls", "--action", "coupon void", "-ojson")
                #expect(try audit.record["subject"] == .text("coupon \(ids[0])"))
                try await change(
                    "UPDATE coupons.coupons SET redeemed_at = now() WHERE id = \(ids[1])")
                try await errand(words + ["x", ids[1], "--yes"])
                    .expect(4, "coupon \(ids[1]) was already redeemed")
                try await errand(words + ["x", "99", "--yes"]).expect(3, "there is no coupon 99")
                let both = try await errand(words + ["x", ids[0], ids[1], "--yes", "-ojson"])
                both.expect(7, "coupon \(ids[1]) was already redeemed")
                try await errand("coupon", "void", ids[0]).expect(2, "--reason TEXT is required")
                try await errand(words + ["", ids[0]]).expect(2, "1 to 500 characters")
            }
        }
    }
}
