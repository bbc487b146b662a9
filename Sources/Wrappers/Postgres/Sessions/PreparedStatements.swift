/// The prepared statements of one connection, by text and parameter types.
///
/// The types are part of the key because values are sent in binary: a statement prepared for a
/// `bigint` would read the bits of a `double precision` as one.
struct PreparedStatements {
    /// A statement that is prepared as `name`.
    struct Entry {
        var name: String
        var types: [UInt32]
    }

    /// The maximum number of prepared statements of a connection.
    static let limit = 256

    private var entries: [String: [Entry]] = [:]
    private var made = 0
    /// The number that the server may hold, including those forgotten here.
    private var held = 0

    /// Whether `DEALLOCATE ALL` is necessary before another statement is prepared.
    var isFull: Bool { held >= Self.limit }

    /// Returns the statement prepared for the types of these values; NULL matches every type.
    func find(_ statement: Statement) -> Entry? {
        entries[statement.sql]?.first { entry in
            guard entry.types.count == statement.parameters.count else { return false }
            for (type, parameter) in zip(entry.types, statement.parameters) {
                guard parameter.type == type || parameter.type == 0 else { return false }
            }
            return true
        }
    }

    /// Adds a statement that is about to be prepared, with an unused name.
    mutating func add(_ statement: Statement) -> Entry {
        made += 1
        held += 1
        let entry = Entry(name: "errand_\(made)", types: statement.parameters.map(\.type))
        entries[statement.sql, default: []].append(entry)
        return entry
    }

    /// Removes a statement that the server did not prepare.
    mutating func remove(_ name: String, _ sql: String) {
        held -= 1
        entries[sql]?.removeAll { $0.name == name }
    }

    /// Forgets all statements; the server may still hold them.
    mutating func forget() {
        entries = [:]
        held = Self.limit
    }

    /// Records that the server holds no statements.
    mutating func clear() {
        entries = [:]
        held = 0
    }
}
