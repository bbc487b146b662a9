import ErrandHTTP
import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

@Suite("The example of a shop") struct ShopTests {
    private static let package = SwiftPackage(folder: "Examples/shop")

    private struct Shop {
        let environment: [String: String]

        /// What a command prints that has to succeed.
        func done(_ arguments: String...) async throws -> String {
            let program = try start(arguments)
            guard try await program.end(within: .seconds(60)) == .exited(0) else {
                throw Program.Trouble("shop \(arguments): \(program.output)\(program.errors)")
            }
            return program.output
        }

        func start(_ arguments: [String]) throws -> Program {
            try Program(ShopTests.package.program("shop"), arguments, environment: environment)
        }

        /// The objects of a listing, each with its fields as text.
        func records(_ arguments: String...) async throws -> [[String: String]] {
            let program = try start(arguments + ["-ojson"])
            _ = try await program.end(within: .seconds(60))
            return try program.output.split(separator: "\n").map { line in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                return (object as? [String: Any] ?? [:]).mapValues { "\($0)" }
            }
        }
    }

    @Test func `its program is short`() throws {
        let file = Checkout.root.appending(path: "Examples/shop/Sources/shop/Program.swift")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count < 40)
    }

    @Test func `its own worker, commands, checks and metrics work, and know no app`()
        async throws
    {
        try await Self.package.build()
        let url = try await TestDatabase.url(with: nil)
        let shop = Shop(environment: [
            "DATABASE_URL": url, "REDIS_URL": try TestDatabase.environment("REDIS_URL"),
        ])
        let early = try shop.start(["order", "ls"])
        #expect(try await early.end(within: .seconds(60)) == .exited(5))
        _ = try await shop.done("migrate", "--modules", "shop")
        let session = Session(SessionSettings(url, name: "shop-test"))
        // As a server of the shop, which may do nothing else.
        try await session.script(
            "SET ROLE errand_app; SELECT shop.place_order() FROM generate_series(1, 5); RESET ROLE")

        let worker = try shop.start(["work", "--queues", "orders", "--listen", "127.0.0.1:0"])
        try await eventually("all orders are confirmed, and their receipts sent") {
            guard worker.isRunning else { throw Program.Trouble(worker.errors) }
            return try await session.query(
                "SELECT count(*) FROM errand.finished_jobs WHERE outcome = 'completed'"
            ).int64(0, 0) == 10
        }
        let metrics = try await metrics(of: worker)
        #expect(metrics.contains(#"queue="orders""#) && metrics.contains("order.confirm"))
        #expect(metrics.contains(#"shop_orders{state="confirmed"} "#))
        #expect(metrics.contains(#"errand_build_info{version="1.0.0"} 1"#))
        let jobs = try await shop.records("job", "ls", "--state", "completed")
        #expect(Set(jobs.map { $0["kind"] }) == ["order.confirm", "receipt.send"])
        let orders = try await shop.records("order", "ls")
        #expect(orders.count == 5 && orders.allSatisfy { $0["confirmed_at"] != nil })
        let checks = try await shop.records("doctor")
        #expect(checks.first { $0["check"] == "orders" }?["severity"] == "ok")
        #expect(Set(checks.map { $0["check"] }).isDisjoint(with: ["votes", "channels", "keys"]))
        #expect(
            try await shop.records("kind", "ls").compactMap { $0["kind"] }.sorted()
                == ["order.confirm", "receipt.send"])
        #expect(!checks.contains { $0["remedy"]?.contains("errand ") == true })
        // Once it has given back what only its start needed.
        try await eventually("it idles in 20 MiB") {
            let name = "process_resident_memory_bytes "
            let line = try await self.metrics(of: worker).split(separator: "\n")
                .first { $0.hasPrefix(name) }
            let bytes = line.flatMap { Double($0.dropFirst(name.count)) }
            return try #require(bytes) <= 20 * 1_048_576
        }
        worker.signal(SIGTERM)
        #expect(try await worker.end(within: .seconds(60)) == .exited(0))

        // What it suggests is what it is called.
        let wrong = try shop.start(["work", "--queues", "no queue"])
        _ = try await wrong.end(within: .seconds(60))
        #expect(wrong.errors.hasPrefix("shop: "))
        let help = try await shop.done("help", "migrate")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(help.contains("shop migrate --modules") && help.contains("'shop fields'"))
        #expect(try await shop.done("completion", "fish").contains("shop fields"))
        await session.close()
    }

    private func metrics(of worker: Program) async throws -> String {
        let words = "serving metrics and probes at 127.0.0.1:"
        try await eventually("the worker listens") { worker.errors.contains(words) }
        let range = try #require(worker.errors.range(of: words))
        let port = worker.errors[range.upperBound...].prefix { $0.isNumber }
        let client = HTTPClient(
            HTTPSettings(
                bodyLimit: 1 << 22, http2: .never, allowsPrivateAddresses: true,
                allowsPlainText: true))
        let answer = try await client.send(
            HTTPRequest(
                method: "GET", url: "http://127.0.0.1:\(port)/metrics",
                headers: [("Accept", "*/*")], timeout: .seconds(30)))
        return String(decoding: answer.body, as: UTF8.self)
    }
}
