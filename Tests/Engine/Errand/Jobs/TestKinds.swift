import Errand

/// Kinds that the tests of the engine run.
struct Note: Job {
    static let kind = "test.note"
    var text: String
}

struct Plain: Job {
    static let kind = "test.plain"
    static let options = JobOptions(maxAttempts: 3, backoff: Backoff(base: 0, jitter: 0))
    var n: Int
}

struct Failure: Error, CustomStringConvertible {
    var description: String { "it went wrong" }
}
