/// A row of small bars for how a number went, the newest last.
package enum Sparkline {
    private static let bars = Array("▁▂▃▄▅▆▇█")

    /// The last `width` values, each as a bar of its share of the highest; nothing is a low line.
    package static func text(_ values: [Double], width: Int) -> String {
        let shown = values.suffix(max(0, width))
        let highest = shown.max() ?? 0
        let text = shown.map { value in
            guard highest > 0, value > 0 else { return bars[0] }
            // What is more than nothing is seen: one step above the low line at least.
            let steps = Double(bars.count - 2)
            return bars[1 + Int((value / highest * steps).rounded())]
        }
        return String(repeating: " ", count: max(0, width - text.count)) + String(text)
    }
}
