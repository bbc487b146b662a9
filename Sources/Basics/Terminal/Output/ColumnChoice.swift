/// The columns requested by `--columns`.
struct ColumnChoice: Sendable {
    /// The names as given; empty for all.
    let names: [String]

    var isEverything: Bool { names.isEmpty }

    /// The record with the requested fields, in that order.
    func applied(to record: Record) -> Record {
        guard !isEverything else { return record }
        var chosen = Record(names.map { ($0, record[$0]) })
        chosen.nameField = record.nameField ?? record.fields.first?.name
        return chosen
    }

    /// The failure for the first name that is not among the records' fields.
    func mistake(among known: [String]) -> CommandFailure? {
        guard let unknown = names.first(where: { !known.contains($0) }) else { return nil }
        let byNearness = known.enumerated().sorted { first, second in
            let distances = (
                editDistance(unknown, first.element), editDistance(unknown, second.element)
            )
            return distances.0 == distances.1
                ? first.offset < second.offset : distances.0 < distances.1
        }
        return .usage(
            "there is no column '\(unknown)'",
            hint: "columns: \(byNearness.map(\.element).joined(separator: ", "))")
    }

    /// The names of the fields of all records, in the order of their first appearance.
    static func names(of records: [Record]) -> [String] {
        // Usually all records have the same fields.
        var names = records.first?.fields.map(\.name) ?? []
        var seen = Set(names)
        for record in records.dropFirst() {
            for field in record.fields where seen.insert(field.name).inserted {
                names.append(field.name)
            }
        }
        return names
    }
}
