/// What one connection has prepared on its server, by text and parameter types.
///
/// The types belong to the key: values travel in binary, so a statement that was prepared for a
/// `bigint` would read the bits of a `double precision` as one.
struct PreparedStatements {
    /// One statement that the server knows by `name`.
    struct Entry {
        var name: String
        var types: [UInt32]
    }

    /// How many the server keeps for a connection at most.
    static let limit = 256

    private var entries: [String: [Entry]] = [:]
    private var made = 0
    /// How many the server may hold, those forgotten here among them.
    private var held = 0

    /// Whether room must be made (`DEALLOCATE ALL`) before another is prepared.
    var isFull: Bool { held >= Self.limit }

    /// The statement prepared for these values; NULL fits every type.
    func find(_ statement: Statement) -> Entry? {
        entries[statement.sql]?.first { entry in
            guard entry.types.count == statement.parameters.count else { return false }
            for (type, parameter) in zip(entry.types, statement.parameters) {
                guard parameter.type == type || parameter.type == 0 else { return false }
            }
            return true
        }
    }

    /// Notes a statement that is about to be prepared, under a name that was never used before.
    mutating func add(_ statement: Statement) -> Entry {
        made += 1
        held += 1
        let entry = Entry(name: "errand_\(made)", types: statement.parameters.map(\.type))
        entries[statement.sql, default: []].append(entry)
        return entry
    }

    /// Takes back a statement that the server did not prepare after all.
    mutating func remove(_ name: String, _ sql: String) {
        held -= 1
        entries[sql]?.removeAll { $0.name == name }
    }

    /// Uses none of them any more; the server may still hold them.
    mutating func forget() {
        entries = [:]
        held = Self.limit
    }

    /// The server holds none any more.
    mutating func clear() {
        entries = [:]
        held = 0
    }
}
