extension QRSymbol {
    /// Returns the symbol in its quiet zone as lines of half blocks, with two modules per cell.
    ///
    /// - Parameters:
    ///   - isColored: whether to print black on white, independent of the terminal's colors, with
    ///     the fixed part of the 256 colors (16 is black, 231 white). Otherwise the light modules
    ///     are blocks in the foreground color, for terminals with a dark background.
    ///   - inverted: swaps dark and light. Without colors, this is for terminals with a light
    ///     background, and for paper.
    package func terminalText(isColored: Bool, inverted: Bool = false) -> String {
        let colors = inverted ? "\u{1B}[38;5;231;48;5;16m" : "\u{1B}[38;5;16;48;5;231m"
        let blocksAreDark = isColored || inverted
        var text = ""
        for row in stride(from: frame.lowerBound, to: frame.upperBound, by: 2) {
            if isColored { text += colors }
            for column in frame {
                // The number of rows is odd: the lower half of the last cells is light.
                let upper = isDark(row: row, column: column) == blocksAreDark
                let lower = isDark(row: row + 1, column: column) == blocksAreDark
                text += upper ? (lower ? "█" : "▀") : (lower ? "▄" : " ")
            }
            text += isColored ? "\u{1B}[0m\n" : "\n"
        }
        return text
    }
}
