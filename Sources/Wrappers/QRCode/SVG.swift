extension QRSymbol {
    /// Returns an SVG document of the symbol in its quiet zone, black on white; one unit is a
    /// module.
    ///
    /// It has no size and scales to its container.
    package func svg() -> String {
        let size = frame.count
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(size) \(size)" \
            shape-rendering="crispEdges">\
            <rect width="\(size)" height="\(size)" fill="#fff"/>\
            <path d="\(outline)"/></svg>

            """
    }

    /// The dark modules as rectangles, one for each run of adjacent modules in a row.
    private var outline: String {
        var path = ""
        for row in 0..<side {
            var column = 0
            while column < side {
                let run = (column..<side).prefix { isDark(row: row, column: $0) }.count
                if run > 0 {
                    path += "M\(column + Self.quietZone) \(row + Self.quietZone)h\(run)v1h-\(run)z"
                }
                column += max(run, 1)
            }
        }
        return path
    }
}
