extension QRSymbol {
    /// The symbol in its quiet zone as lines of half blocks, two modules above each other in a
    /// cell.
    ///
    /// - Parameters:
    ///   - isColored: black on white whatever the terminal's own colours are, by the fixed part
    ///     of the 256 colours (16 is black, 231 white). Otherwise only blocks, in the terminal's
    ///     foreground: those are the light modules, as a terminal with a dark background needs it.
    ///   - inverted: swaps dark and light. Without colours this is what a terminal with a light
    ///     background needs, and paper.
    package func terminalText(isColored: Bool, inverted: Bool = false) -> String {
        let colors = inverted ? "\u{1B}[38;5;231;48;5;16m" : "\u{1B}[38;5;16;48;5;231m"
        let blocksAreDark = isColored || inverted
        var text = ""
        for row in stride(from: frame.lowerBound, to: frame.upperBound, by: 2) {
            if isColored { text += colors }
            for column in frame {
                // The number of rows is odd: the last cells have a light half below the picture.
                let upper = isDark(row: row, column: column) == blocksAreDark
                let lower = isDark(row: row + 1, column: column) == blocksAreDark
                text += upper ? (lower ? "█" : "▀") : (lower ? "▄" : " ")
            }
            text += isColored ? "\u{1B}[0m\n" : "\n"
        }
        return text
    }
}
