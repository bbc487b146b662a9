import Foundation
import ErrandTestServices
import Testing

/// The names that `errand fields` explains: whatever any test prints as JSON must be among them.
enum FieldNames {
    /// What stands below these is named by others: arguments, settings, filters, facts.
    private static let foreign: Set<String> = [
        "args", "before", "after", "change", "filter", "data", "payload",
    ]

    private static let known = Task { () throws -> Set<String> in
        let binary = try start(["fields", "--output", "name"])
        _ = try await binary.end(within: .seconds(60))
        return Set(binary.output.split(separator: "\n").map(String.init))
    }

    static func check(_ run: Run, at place: SourceLocation) async throws {
        let asks = ["json", "-ojson", "--output=json"].contains { run.arguments.contains($0) }
        guard asks, run.arguments.first != "python3", run.arguments.first != "/usr/bin/env",
            run.arguments.first != "--help", !run.output.isEmpty,
            let records = try? run.records
        else { return }
        let known = try await known.value
        let unknown = records.reduce(into: Set<String>()) { gather($1, into: &$0) }
            .subtracting(known)
        #expect(
            unknown.isEmpty, "'errand fields' does not explain what \(run.arguments) prints",
            sourceLocation: place)
    }

    private static func gather(_ value: JSON, into names: inout Set<String>) {
        for element in value.elements { gather(element, into: &names) }
        for name in value.names {
            names.insert(name)
            if !foreign.contains(name) { gather(value[name], into: &names) }
        }
    }
}
