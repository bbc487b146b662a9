import CErrandPostgres
import Glibc

/// The owner of one `PGresult`.
// Safe to share: neither libpq nor this type changes a result after it was returned.
@safe final class ResultBox: @unchecked Sendable {
    private let result: OpaquePointer
    let rowCount: Int
    let columnCount: Int

    init(_ result: OpaquePointer) {
        unsafe self.result = unsafe result
        rowCount = Int(unsafe PQntuples(result))
        columnCount = Int(unsafe PQnfields(result))
    }

    deinit { unsafe PQclear(result) }

    /// The kind of result.
    enum Kind {
        case rows, copyIn, copyOut, pipelineEnd, skipped, failed
    }

    var kind: Kind {
        switch unsafe PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: .rows
        case PGRES_COPY_IN: .copyIn
        case PGRES_COPY_OUT, PGRES_COPY_BOTH: .copyOut
        case PGRES_PIPELINE_SYNC: .pipelineEnd
        case PGRES_PIPELINE_ABORTED: .skipped
        default: .failed
        }
    }

    var affected: Int {
        guard let text = unsafe PQcmdTuples(result) else { return 0 }
        return unsafe Int(String(cString: text)) ?? 0
    }

    var commandTag: String {
        guard let text = unsafe PQcmdStatus(result) else { return "" }
        return unsafe String(cString: text)
    }

    // MARK: Columns

    var columns: [String] { (0..<columnCount).map(name) }

    func name(_ column: Int) -> String {
        guard let name = unsafe PQfname(result, Int32(truncatingIfNeeded: column)) else {
            return String(column)
        }
        return unsafe String(cString: name)
    }

    /// Returns the index of the column with a name, without creating strings.
    func column(_ name: String) -> Int? {
        unsafe name.withCString { wanted in
            (0..<columnCount).first { column in
                guard let name = unsafe PQfname(result, Int32(truncatingIfNeeded: column)) else {
                    return false
                }
                return unsafe strcmp(name, wanted) == 0
            }
        }
    }

    // MARK: Values

    /// A value in libpq's memory, valid as long as its result.
    @unsafe struct Value {
        let type: UInt32
        let bytes: UnsafeRawBufferPointer
    }

    func isNull(_ row: Int, _ column: Int) -> Bool {
        guard holds(row, column) else { return false }
        return unsafe PQgetisnull(
            result, Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column)) == 1
    }

    private func holds(_ row: Int, _ column: Int) -> Bool {
        row >= 0 && row < rowCount && column >= 0 && column < columnCount
    }

    /// - Throws: `.decoding` if there is no such value, or it is null.
    @unsafe func value(_ row: Int, _ column: Int) throws(PostgresError) -> Value {
        guard holds(row, column) else {
            throw .decoding(
                "there is no row \(row), column \(column): the result has \(rowCount) rows of "
                    + "\(columnCount) columns")
        }
        let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
        guard unsafe PQgetisnull(result, row, column) == 0,
            let start = unsafe PQgetvalue(result, row, column)
        else {
            throw .decoding("column \(name(Int(column))) is null: read it as an optional")
        }
        let count = Int(unsafe PQgetlength(result, row, column))
        return unsafe Value(
            type: PQftype(result, column), bytes: UnsafeRawBufferPointer(start: start, count: count)
        )
    }

    func mismatch(_ column: Int, _ expected: String) -> PostgresError {
        let type = unsafe PQftype(result, Int32(truncatingIfNeeded: column))
        return .decoding(
            "column \(name(column)) is \(TypeOID.name(type)), not \(expected): cast it in the SQL")
    }

    // MARK: Errors

    /// The error of this result.
    var error: ServerError {
        func field(_ code: Character) -> String? {
            guard let value = code.asciiValue,
                let text = unsafe PQresultErrorField(result, Int32(value))
            else { return nil }
            return unsafe String(cString: text)
        }
        func message() -> String {
            guard let text = unsafe PQresultErrorMessage(result) else { return "" }
            return unsafe String(cString: text)
        }
        // The codes are those of the protocol's ErrorResponse.
        return ServerError(
            sqlState: field("C") ?? "", severity: field("V") ?? "ERROR",
            message: field("M") ?? message(), detail: field("D"), hint: field("H"),
            context: field("W"), schema: field("s"), table: field("t"), column: field("c"),
            constraint: field("n"), position: field("P").flatMap { Int($0) })
    }
}
