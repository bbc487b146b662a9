/// A text style of a terminal; the numbers are those of ECMA-48, "select graphic rendition".
public enum Style: Int, Sendable {
    case bold = 1
    case dim = 2
    case underlined = 4
    case reversed = 7
    case red = 31
    case green = 32
    case yellow = 33
    case blue = 34
    case cyan = 36
}

/// Applies styles if color is enabled.
public struct Paint: Equatable, Sendable {
    /// Whether color is enabled.
    public let isColored: Bool

    /// Paint with color enabled or not.
    public init(isColored: Bool) {
        self.isColored = isColored
    }

    /// Decides from the `--color` option, the environment and the destination.
    ///
    /// `NO_COLOR` counts if it is set and not empty (no-color.org).
    init(_ choice: ColorChoice, isTerminal: Bool, environment: [String: String]) {
        switch choice {
        case .always: isColored = true
        case .never: isColored = false
        case .auto:
            let isUnwanted = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
            isColored = isTerminal && !isUnwanted && environment["TERM"] != "dumb"
        }
    }

    /// The text in a style, if color is enabled.
    public func callAsFunction(_ text: String, _ styles: Style...) -> String {
        guard isColored, !styles.isEmpty, !text.isEmpty else { return text }
        let codes = styles.map { String($0.rawValue) }.joined(separator: ";")
        return "\u{1B}[\(codes)m\(text)\u{1B}[0m"
    }
}
