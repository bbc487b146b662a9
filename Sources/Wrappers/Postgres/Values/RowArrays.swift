/// Arrays of one dimension.
extension Rows {
    /// An array of whole numbers without nulls; narrower ones are widened.
    public func int64Array(_ row: Int, _ column: Int) throws(PostgresError) -> [Int64] {
        let value = try unsafe result.value(row, column)
        switch unsafe value.type {
        case TypeOID.int8Array, TypeOID.int4Array, TypeOID.int2Array: break
        default: throw result.mismatch(column, "an array of whole numbers")
        }
        return try unsafe elements(value, column) { item in
            switch item.count {
            case 8: unsafe item.integer(0, as: Int64.self)
            case 4: Int64(unsafe item.integer(0, as: Int32.self))
            default: Int64(unsafe item.integer(0, as: Int16.self))
            }
        }
    }

    /// An array of whole numbers of at most 32 bits, without nulls.
    public func int32Array(_ row: Int, _ column: Int) throws(PostgresError) -> [Int32] {
        let value = try unsafe result.value(row, column)
        switch unsafe value.type {
        case TypeOID.int4Array, TypeOID.int2Array: break
        default: throw result.mismatch(column, "an array of integers")
        }
        return try unsafe elements(value, column) { item in
            unsafe item.count == 4
                ? item.integer(0, as: Int32.self) : Int32(item.integer(0, as: Int16.self))
        }
    }

    /// An array of texts without nulls.
    public func textArray(_ row: Int, _ column: Int) throws(PostgresError) -> [String] {
        let value = try unsafe texts(row, column)
        return try unsafe elements(value, column) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The texts in an array, whatever its dimensions, without nulls.
    public func looseTextArray(_ row: Int, _ column: Int) throws(PostgresError) -> [String] {
        let value = try unsafe texts(row, column)
        var items: [String] = []
        try unsafe walk(value, column, dimensions: 6, reserve: { items.reserveCapacity($0) }) {
            if let item = unsafe $0 { items.append(unsafe String(decoding: item, as: UTF8.self)) }
        }
        return items
    }

    /// An array of texts that may be null.
    public func nullableTextArray(_ row: Int, _ column: Int) throws(PostgresError) -> [String?] {
        let value = try unsafe texts(row, column)
        return try unsafe nullableElements(value, column) {
            unsafe String(decoding: $0, as: UTF8.self)
        }
    }

    /// An array of instants that may be null.
    public func timestampArray(_ row: Int, _ column: Int) throws(PostgresError) -> [Instant?] {
        let value = try unsafe result.value(row, column)
        guard unsafe value.type == TypeOID.timestamptzArray else {
            throw result.mismatch(column, "an array of timestamptz")
        }
        return try unsafe nullableElements(value, column) {
            Instant(microseconds: unsafe $0.integer(0, as: Int64.self))
        }
    }

    @unsafe private func texts(
        _ row: Int, _ column: Int
    ) throws(PostgresError) -> ResultBox.Value {
        let value = try unsafe result.value(row, column)
        switch unsafe value.type {
        case TypeOID.textArray, TypeOID.varcharArray, TypeOID.nameArray: return unsafe value
        default: throw result.mismatch(column, "an array of texts")
        }
    }

    @unsafe private func elements<Item>(
        _ value: ResultBox.Value, _ column: Int, _ read: (UnsafeRawBufferPointer) -> Item
    ) throws(PostgresError) -> [Item] {
        var items: [Item] = []
        var hasNull = false
        try unsafe walk(value, column, reserve: { items.reserveCapacity($0) }) { item in
            if let item = unsafe item { items.append(unsafe read(item)) } else { hasNull = true }
        }
        guard !hasNull else {
            throw .decoding("the array in column \(result.name(column)) holds a null")
        }
        return items
    }

    @unsafe private func nullableElements<Item>(
        _ value: ResultBox.Value, _ column: Int, _ read: (UnsafeRawBufferPointer) -> Item
    ) throws(PostgresError) -> [Item?] {
        var items: [Item?] = []
        try unsafe walk(value, column, reserve: { items.reserveCapacity($0) }) { item in
            items.append(unsafe item.map { unsafe read($0) })
        }
        return items
    }

    /// Reads an array's binary form: dimensions, whether there are nulls, and the elements' type;
    /// length and first index of each dimension; then each element after its size, which is -1 for
    /// null.
    ///
    /// - Parameter limit: the maximum number of dimensions.
    @unsafe private func walk(
        _ value: ResultBox.Value, _ column: Int, dimensions limit: Int = 1, reserve: (Int) -> Void,
        _ each: (UnsafeRawBufferPointer?) -> Void
    ) throws(PostgresError) {
        let bytes = unsafe value.bytes
        let broken = PostgresError.decoding(
            "the array in column \(result.name(column)) is truncated or has several dimensions")
        guard bytes.count >= 12 else { throw broken }
        let dimensions = Int(unsafe bytes.integer(0, as: Int32.self))
        if dimensions == 0 { return }
        var place = 12 + 8 * dimensions
        guard (1...limit).contains(dimensions), bytes.count >= place else { throw broken }
        var count = 1
        for dimension in 0..<dimensions {
            let length = Int(unsafe bytes.integer(12 + 8 * dimension, as: Int32.self))
            guard length >= 0, count * length <= bytes.count / 4 else { throw broken }
            count *= length
        }
        reserve(count)
        for _ in 0..<count {
            guard place + 4 <= bytes.count else { throw broken }
            let size = Int(unsafe bytes.integer(place, as: Int32.self))
            place += 4
            guard size >= 0 else {
                each(nil)
                continue
            }
            guard place + size <= bytes.count else { throw broken }
            unsafe each(UnsafeRawBufferPointer(rebasing: bytes[place..<place + size]))
            place += size
        }
    }
}
