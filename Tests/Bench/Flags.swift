import FoundationEssentials
import Glibc
import Errand
import ErrandPostgres
import ErrandRedis

/// What a measurement was asked for: `bench NAME --flag value …`, and the servers' addresses.
struct Flags: Sendable {
    /// A flag or variable that is missing or wrong.
    struct Wrong: Error, CustomStringConvertible {
        var description: String
    }

    let name: String
    private let values: [String: String]

    init(_ words: [String]) throws {
        guard let name = words.first else {
            throw Wrong(description: "usage: bench NAME [--flag value]…; scripts/bench calls it")
        }
        self.name = name
        var values: [String: String] = [:]
        var rest = words.dropFirst()
        while let flag = rest.popFirst() {
            guard flag.hasPrefix("--"), let value = rest.popFirst() else {
                throw Wrong(description: "\(flag): expected --flag value")
            }
            values[String(flag.dropFirst(2))] = value
        }
        self.values = values
    }

    func text(_ flag: String, _ fallback: String? = nil) throws -> String {
        guard let value = values[flag] ?? fallback else {
            throw Wrong(description: "--\(flag) is missing")
        }
        return value
    }

    func int(_ flag: String, _ fallback: Int? = nil) throws -> Int {
        guard let number = Int(try text(flag, fallback.map(String.init))) else {
            throw Wrong(description: "--\(flag): expected a number")
        }
        return number
    }

    func path(_ flag: String) -> String? { values[flag] }

    private func variable(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else {
            throw Wrong(description: "\(name) is not set; scripts/bench sets it")
        }
        return value
    }

    func database() throws -> String { try variable("DATABASE_URL") }

    func redis() throws -> RedisAddress { try RedisAddress(url: variable("REDIS_URL")) }

    func servers() throws -> Servers { Servers(database: try database(), redis: try redis()) }

    /// A client as a program that enqueues has it.
    func client(connections: Int) async throws -> JobClient {
        let settings = SessionSettings(try database(), name: "bench-client")
        return try await JobClient(
            pool: Pool(settings, limit: connections), redis: try redis(), log: .silent)
    }
}

/// Nanoseconds of the clock that all processes of this machine share.
func monotonicNow() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

func seconds(from start: Int64, to end: Int64) -> Double { Double(end - start) / 1e9 }

/// The measurement's only line on standard output.
func report(_ fields: [(String, Double)]) {
    print("{" + fields.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}")
}

/// About 100 bytes of JSON.
let payload = String(repeating: "x", count: 84)
