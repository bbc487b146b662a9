import ErrandPostgres

/// The rows of `reports.figures` of one report, one snapshot: the figures at once, then the texts,
/// page by page and masked.
struct FigureStream {
    /// Rows per fetch.
    private static let page = 5_000

    private static let declare = """
        DECLARE figures NO SCROLL CURSOR FOR SELECT \(Figure.columns) FROM reports.figures($1)
        """

    var content: ReportContent
    private let transaction: Transaction
    /// Texts that are fetched and not taken yet.
    private var texts: ArraySlice<Figure> = []
    private var isEnded = false

    /// Reads all but the texts.
    init(_ held: ReportMaker.Held, in transaction: Transaction) async throws {
        self.transaction = transaction
        content = ReportContent(held.head)
        content.groups = held.groups ?? []
        try await transaction.query(Self.declare, [.int64(held.head.id)])
        while texts.isEmpty, !isEnded { try await fetch() }
        if let trend = held.trend { content.trend = trend }
    }

    private mutating func fetch() async throws {
        let rows = try await transaction.query("FETCH \(Self.page) FROM figures")
        var found: [Figure] = []
        for row in rows {
            let figure = try Figure(row)
            // The first text: all figures are there.
            if !content.add(figure) { found.append(figure) }
        }
        texts = found[...]
        isEnded = rows.count < Self.page
    }

    /// The next text; nil behind the last.
    mutating func next() async throws -> Figure? {
        while texts.isEmpty, !isEnded { try await fetch() }
        return texts.popFirst()
    }

    /// Closes the cursor: another stream may begin.
    func close() async throws { try await transaction.query("CLOSE figures") }
}
