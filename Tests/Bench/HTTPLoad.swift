import ErrandHTTP

/// Our HTTP client as h2load is used: so many requests, so many of them at once.
enum HTTPLoad {
    static func run(_ flags: Flags) async throws {
        let count = try flags.int("count")
        let connections = try flags.int("connections", 1)
        let streams = try flags.int("streams", 100)
        let client = HTTPClient(
            HTTPSettings(
                authorityFile: flags.path("authority"), connectionsPerHost: connections,
                streamsPerConnection: streams, http2: .required, allowsPrivateAddresses: true))
        let request = HTTPRequest(
            method: "POST", url: try flags.text("url"),
            headers: [
                ("authorization", "bearer " + String(repeating: "t", count: 200)),
                ("apns-topic", "app.example"), ("apns-push-type", "alert"),
            ],
            body: Array(repeating: 0x78, count: try flags.int("body", 300)),
            timeout: .seconds(60))
        let senders = connections * streams
        // Makes the connections, and what libcurl keeps for each request on its way.
        _ = try await send(senders * 2, by: senders, client, request)
        let start = monotonicNow()
        let answered = try await send(count, by: senders, client, request)
        let end = monotonicNow()
        await client.close()
        report([("requests", Double(answered)), ("seconds", seconds(from: start, to: end))])
    }

    @concurrent private static func send(
        _ count: Int, by senders: Int, _ client: HTTPClient, _ request: HTTPRequest
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    let share = count / senders + (sender < count % senders ? 1 : 0)
                    for _ in 0..<share {
                        let response = try await client.send(request)
                        guard response.status == 200 else {
                            throw Flags.Wrong(description: "the server said \(response.status)")
                        }
                    }
                    return share
                }
            }
            return try await group.reduce(0, +)
        }
    }
}
