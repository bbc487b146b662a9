/// The text format of metrics: Prometheus (0.0.4) or OpenMetrics (1.0.0).
///
/// They differ in the names of counters and infos, and OpenMetrics has an end marker.
package enum Exposition: Sendable {
    case prometheus
    case openMetrics

    /// Chooses the format for an `Accept` header (RFC 9110, section 12.5.1).
    ///
    /// OpenMetrics, if its quality is at least that of Prometheus. Other versions do not count.
    package init(accept: String) {
        var quality = (prometheus: 0.0, openMetrics: 0.0)
        for range in accept.split(separator: ",") {
            let parts = range.split(separator: ";").map(Self.trimmed)
            var share = 1.0
            var version: String?
            for part in parts.dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1).map(Self.trimmed)
                guard pair.count == 2 else { continue }
                if pair[0] == "q" { share = Double(pair[1]) ?? 0 }
                if pair[0] == "version" { version = pair[1] }
            }
            switch parts.first {
            case "application/openmetrics-text" where version == nil || version == "1.0.0":
                quality.openMetrics = max(quality.openMetrics, share)
            case "text/plain", "text/*", "*/*":
                quality.prometheus = max(quality.prometheus, share)
            default: break
            }
        }
        let wantsOpen = quality.openMetrics > 0 && quality.openMetrics >= quality.prometheus
        self = wantsOpen ? .openMetrics : .prometheus
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { start[...$0].lowercased() } ?? ""
    }

    /// The media type of ``text(_:)``.
    package var mediaType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// Formats the families that have samples, in the order given.
    package func text(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty { write(family, to: &text) }
        if self == .openMetrics { text += "# EOF\n" }
        return text
    }

    private func write(_ family: MetricFamily, to text: inout String) {
        let name = name(of: family)
        text += "# HELP \(name) \(escaped(family.help))\n"
        let kind = family.kind == .info && self == .prometheus ? .gauge : family.kind
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for sample in family.samples {
            switch sample.value {
            case .number(let value):
                line(family.name + suffix(family.kind), sample.labels, value, to: &text)
            case .distribution(let distribution):
                write(distribution, family.name, sample.labels, to: &text)
            }
        }
    }

    private func write(
        _ distribution: MetricFamily.Distribution, _ name: String,
        _ labels: [(name: String, value: String)], to text: inout String
    ) {
        for (bound, count) in distribution.buckets {
            line("\(name)_bucket", labels + [("le", "\(bound)")], Double(count), to: &text)
        }
        line(
            "\(name)_bucket", labels + [("le", "+Inf")], Double(distribution.count), to: &text)
        line("\(name)_sum", labels, distribution.sum, to: &text)
        line("\(name)_count", labels, Double(distribution.count), to: &text)
    }

    /// The name of a family in its HELP and TYPE lines.
    private func name(of family: MetricFamily) -> String {
        self == .prometheus ? family.name + suffix(family.kind) : family.name
    }

    private func suffix(_ kind: MetricFamily.Kind) -> String {
        switch kind {
        case .counter: "_total"
        case .info: "_info"
        case .gauge, .histogram: ""
        }
    }

    private func line(
        _ name: String, _ labels: [(name: String, value: String)], _ value: Double,
        to text: inout String
    ) {
        text += name
        if !labels.isEmpty {
            text += "{"
            for (place, label) in labels.enumerated() {
                if place > 0 { text += "," }
                text += "\(label.name)=\"\(escaped(label.value, quotes: true))\""
            }
            text += "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Quotes are escaped in labels, and in OpenMetrics in help texts too.
    private func escaped(_ text: String, quotes: Bool = false) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes || self == .openMetrics: escaped += "\\\""
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        guard value == value.rounded(), abs(value) < 1e15 else { return "\(value)" }
        return "\(Int64(value))"
    }
}
