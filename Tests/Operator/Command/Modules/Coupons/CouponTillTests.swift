import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand coupon: codes at the till") struct CouponTillTests {
        @Test func `code shows what the app shows, and that is recorded`() async throws {
            try await withCoupons { ground in
                let id = try await ground.granted()
                try await ground.coupon("code", id).expect(1, "not ready", "ERRAND_KEYS_FILE")
                try await ground.coupon("rotate").expect(0)
                let run = try await ground.coupon("code", id, "--reason", "ticket 88")
                run.expect(0)
                #expect(run.output.contains(/payload        EC1[0-9A-F]{35}\n/))
                #expect(run.output.contains(/typed          [0-9A-Z-]{14}[0-9A-Z*~$=]\n/))
                let audit = try await errand("audit", "ls", "--action", "coupon code", "-ojson")
                // What failed has shown nothing.
                let line = try audit.record
                #expect(line["subject"] == .text("coupon \(id)") && line["reason"] == "ticket 88")
                #expect(line["operator"] == "tester")
                try await ground.coupon("code", "99").expect(3, "there is no coupon 99")
                try await change("UPDATE coupons.coupons SET redeemed_at = now()")
                for verb in ["code", "qr"] {
                    try await ground.coupon(verb, id).expect(5, "is redeemed and has no code")
                }
                try await errand("--read-only", "coupon", "code", id).expect(5)
            }
        }

        @Test func `zbarimg reads each picture, and the till takes what it read`() async throws {
            try await withCoupons { ground in
                let id = try await ground.granted()
                try await ground.coupon("rotate").expect(0)
                let folder = FileManager.default.temporaryDirectory.appending(
                    path: "errand-pictures-\(UUID().uuidString)")
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: folder) }
                for format in ["png", "svg", "terminal"] {
                    let file = folder.appending(path: "code.\(format)")
                    let run = try await ground.coupon(
                        "qr", id, "--output-file", file.path, "-ojson")
                    run.expect(0)
                    #expect(try run.record["format"] == .text(format))
                    let mode = try FileManager.default.attributesOfItem(atPath: file.path)[
                        .posixPermissions]
                    #expect(mode as? Int == 0o600)
                    let picture = folder.appending(path: "\(format).read")
                    switch format {
                    case "svg":
                        _ = try await output(
                            of: ["rsvg-convert", "-w", "300", "-o", picture.path, file.path])
                    case "terminal":
                        let text = try String(contentsOf: file, encoding: .utf8)
                        try Data(Self.bitmap(text)).write(to: picture)
                    default: try FileManager.default.copyItem(at: file, to: picture)
                    }
                    let read = try await output(
                        of: ["zbarimg", "--quiet", "--nodbus", "--raw", picture.path])
                    #expect(read.hasPrefix("EC1"))
                    let till = try await ground.coupon(
                        "verify", "-", "--establishment", "1", "-ojson", input: read)
                    till.expect(0)
                    #expect(try till.record["id"].id == id)
                }
            }
        }

        /// Half blocks, light on a dark terminal, as a plain portable bitmap.
        private static func bitmap(_ text: String) -> [UInt8] {
            let scale = 4
            let rows = text.split(separator: "\n").flatMap { line in
                ["█▀", "█▄"].map { light in line.map { !light.contains($0) } }
            }
            let pixels = rows.map { row in
                let line = row.map { String(repeating: $0 ? "1" : "0", count: scale) }.joined()
                return String(repeating: line + "\n", count: scale)
            }
            let size = "\(rows[0].count * scale) \(rows.count * scale)"
            return Array("P1\n\(size)\n\(pixels.joined())".utf8)
        }

        @Test func `qr refuses what makes no picture`() async throws {
            try await withCoupons { ground in
                let id = try await ground.granted()
                try await ground.coupon("rotate").expect(0)
                for (words, said) in [
                    (["-ojson"], "an image cannot be printed as json"),
                    (["--format", "svg", "--scale", "3"], "--scale requires --format png"),
                    (["--invert"], "--invert requires --format terminal"),
                    (["--scale", "41"], "from 1 to 40"),
                    (["--format", "gif"], "png, svg or terminal"),
                ] {
                    let run = try await errand(["coupon", "qr", id] + words)
                    run.expect(2, said)
                    #expect(run.output.isEmpty)
                }
                try await errand("coupon", "qr", id, "--output-file", "/dev/null/x.svg")
                    .expect(1, "cannot write /dev/null/x.svg")
                let binary = try await onTerminal("coupon", "qr", id, "--format", "png", steps: [])
                #expect(binary.code == 2 && binary.text.contains("--output-file FILE"))
                let shown = try await onTerminal(
                    "coupon", "qr", id, steps: [],
                    environment: ["NO_COLOR": "", "TERM": "xterm-256color"])
                #expect(shown.code == 0 && shown.output.contains("\u{1B}[38;5;16;48;5;231m"))
            }
        }

        @Test func `a code is redeemed once, and the same request is confirmed again`()
            async throws
        {
            try await withCoupons { ground in
                let id = try await ground.granted()
                let codes = try await ground.codes(of: id)
                let typed = codes.typed.lowercased().replacingOccurrences(of: "-", with: " ")
                let good = try await ground.coupon("verify", typed, "--establishment", "1")
                good.expect(0)
                #expect(good.output.contains("reason       ok"))
                // Unquoted, too.
                try await errand(
                    ["coupon", "verify", "--establishment", "1"]
                        + typed.split(separator: " ").map(String.init)
                ).expect(0)
                let words = ["coupon", "redeem", "--establishment", "1", "--terminal", "bar"]
                let first = try await errand(words + ["-", "-ojson"], input: codes.payload + "\n")
                first.expect(0)
                let record = try first.record
                #expect(record["is_accepted"] == true && record["id"].id == id)
                let request = try #require(record["request_id"].text)
                let again = try await errand(
                    words + [codes.typed, "--request-id", request, "-ojson"])
                again.expect(0)
                #expect(try again.record["confirmation"] == record["confirmation"])
                let other = try await errand(words + [codes.typed, "-ojson"])
                other.expect(5)
                #expect(try other.record["reason"] == "redeemed")
                #expect(
                    try other.failure["error"].text?.contains("was redeemed before, at") == true)
                let people = try await errand(words + [codes.typed])
                people.expect(5, "request id: ", "a coupon is valid once")
                #expect(people.output.isEmpty)
                let audit = try await errand("audit", "ls", "--action", "coupon redeem", "-ojson")
                #expect(try audit.records.allSatisfy { $0["subject"] == .text("coupon \(id)") })
            }
        }

        @Test func `a code is refused for its reason`() async throws {
            try await withCoupons { ground in
                let id = try await ground.granted()
                let codes = try await ground.codes(of: id)
                func refused(
                    _ code: String, _ exit: Int32, _ said: String, _ more: String...,
                    at place: SourceLocation = #_sourceLocation
                ) async throws {
                    let options = more.isEmpty ? ["--establishment", "1"] : more
                    try await errand(["coupon", "verify", code] + options)
                        .expect(exit, said, at: place)
                }
                try await refused(codes.payload, 5, "another", "--establishment", "2")
                try await refused(codes.payload, 3, "no establishment 9", "--establishment", "9")
                try await refused(codes.payload, 2, "--establishment ID is required", "-q")
                try await refused("0000-0000-00000", 3, "no coupon has this code")
                try await change("UPDATE coupons.guess_limits SET terminal = 1")
                try await refused(codes.typed, 5, "too many wrong codes were typed; retry")
                try await change("UPDATE coupons.guess_limits SET terminal = 10")
                let row: [(column: String, said: String)] = [
                    ("voided_at = now()", "was voided"),
                    ("voided_at = NULL, expires_at = now()", "has expired, at"),
                    (
                        "expires_at = '2099-01-01Z', valid_from = '2098-01-01Z'",
                        "is not valid yet"
                    ),
                ]
                for row in row {
                    try await change("UPDATE coupons.coupons SET \(row.column)")
                    try await refused(codes.payload, 5, row.said)
                }
                try await ground.coupon("rotate", "--replace", "--reason", "leak", "--yes")
                    .expect(0)
                try await refused(codes.payload, 5, "has rotated since it was shown")
                try await change("TRUNCATE coupons.open_secrets, coupons.guesses")
                let now = try await ground.coupon("epochs", "-ojson").records
                #expect(now.allSatisfy { $0["is_open"] == false })
            }
        }

        @Test func `what cannot be a code is refused before any server is asked`() async throws {
            let nowhere = ["DATABASE_URL": "postgresql://127.0.0.1:1/errand", "REDIS_URL": ""]
            for (code, said) in [
                ("hello", "a typed code has 13 characters, this one 5"),
                ("1000-0000-00000", "a character of the code is wrong, or two are swapped"),
                ("0000-0000-0000!", "'!' is in no code"),
                ("EC1" + String(repeating: "A", count: 20), "has 23 characters instead of 38"),
                ("EC1" + String(repeating: "U", count: 35), "do not contain 'U'"),
                (" ", "the code is empty"),
            ] {
                for input in [nil, code] {
                    let run = try await errand(
                        ["coupon", "verify", input == nil ? code : "-", "--establishment", "1"],
                        input: input, environment: nowhere)
                    run.expect(2, said)
                }
            }
            try await errand(
                "coupon", "verify", "0000-0000-00000", "--establishment", "1",
                environment: nowhere
            ).expect(6, "PostgreSQL cannot be reached")
        }
    }
}
