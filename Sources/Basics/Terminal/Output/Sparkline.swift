/// A row of small bars that shows the course of a number, the newest last.
package enum Sparkline {
    private static let bars = Array("▁▂▃▄▅▆▇█")

    /// The last `width` values, each as a bar relative to the highest; zero is the lowest bar.
    package static func text(_ values: [Double], width: Int) -> String {
        let shown = values.suffix(max(0, width))
        let highest = shown.max() ?? 0
        let text = shown.map { value in
            guard highest > 0, value > 0 else { return bars[0] }
            // Any value above zero is at least one step above the lowest bar.
            let steps = Double(bars.count - 2)
            return bars[1 + Int((value / highest * steps).rounded())]
        }
        return String(repeating: " ", count: max(0, width - text.count)) + String(text)
    }
}
