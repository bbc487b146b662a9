/// What a revision shows, as `reports.record_revision` keeps it.
struct RevisionContent: Encodable {
    var headline: [String: Int64]?
    var names: ReportNames
    var groups: [GroupCell]?
    var trend: [TrendPeriod]?
    var prints: RevisionRule.Prints?
    /// Of a statement.
    var lines: [StatementLine]?
    /// The last transaction of the ledger that a statement saw.
    var knownID: Int64?

    enum CodingKeys: String, CodingKey {
        case headline, names, groups, trend, prints, lines
        case knownID = "known_id"
    }
}
