import ErrandTerminal

/// The options of listings that page by id.
package enum PageOptions {
    package static let limit = Option.integer(
        "limit", default: 50, range: 1...100_000, help: "Show at most N")
    package static let cursor = Option<Int?>.integer(
        "cursor", range: 1...Int.max, placeholder: "ID",
        help: "Continue after this id, the last one of the previous page")

    /// Prints the command for the next page, if `count` fills this one.
    package static func printMore(_ invocation: Invocation, count: Int, last: Int64?) {
        guard count == invocation[limit], let last else { return }
        invocation.output.note("more: " + invocation.line(behind: cursor, String(last)))
    }
}
