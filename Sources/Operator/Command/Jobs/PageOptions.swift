import ErrandTerminal

/// What listings that go down their ids have in common.
package enum PageOptions {
    package static let limit = Option.integer(
        "limit", default: 50, range: 1...100_000, help: "At most so many")
    package static let cursor = Option<Int?>.integer(
        "cursor", range: 1...Int.max, placeholder: "ID",
        help: "Go on behind this id, with which the last page ended")

    /// Says how a listing goes on that has so many records, if it may.
    package static func tellMore(_ invocation: Invocation, count: Int, last: Int64?) {
        guard count == invocation[limit], let last else { return }
        invocation.output.note("more: " + invocation.line(behind: cursor, String(last)))
    }
}
