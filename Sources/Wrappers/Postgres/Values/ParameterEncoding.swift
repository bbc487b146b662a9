extension Parameter {
    /// Appends the value's binary form; returns false for null.
    func encode(into bytes: inout [UInt8]) -> Bool {
        switch self {
        case .null: return false
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int16(let value): bytes.append(bigEndian: value)
        case .int32(let value): bytes.append(bigEndian: value)
        case .int64(let value): bytes.append(bigEndian: value)
        case .float(let value): bytes.append(bigEndian: value.bitPattern)
        case .double(let value): bytes.append(bigEndian: value.bitPattern)
        case .text(let value): bytes += value.utf8
        case .bytes(let value): bytes += value
        case .json(let value):
            bytes.append(1)
            bytes += value
        case .timestamp(let value): bytes.append(bigEndian: value.microseconds)
        case .boolArray(let values):
            bytes.append(array: values, of: 16, hasNulls: false) { bytes, value in
                bytes.append(bigEndian: Int32(1))
                bytes.append(value ? 1 : 0)
            }
        case .int16Array(let values): bytes.append(integers: values, of: 21)
        case .nullableInt16Array(let values): bytes.append(integers: values, of: 21)
        case .int32Array(let values): bytes.append(integers: values, of: 23)
        case .int64Array(let values): bytes.append(integers: values, of: 20)
        case .nullableInt64Array(let values): bytes.append(integers: values, of: 20)
        case .floatArray(let values): bytes.append(integers: values.map(\.bitPattern), of: 700)
        case .doubleArray(let values): bytes.append(integers: values.map(\.bitPattern), of: 701)
        case .textArray(let values):
            bytes.append(array: values, of: 25, hasNulls: false) { $0.append(sized: $1.utf8) }
        case .nullableTextArray(let values):
            bytes.append(array: values, of: 25, hasNulls: true) { bytes, value in
                if let value {
                    bytes.append(sized: value.utf8)
                } else {
                    bytes.append(bigEndian: Int32(-1))
                }
            }
        case .jsonArray(let values):
            bytes.append(array: values, of: 3802, hasNulls: false) { bytes, value in
                bytes.append(bigEndian: Int32(value.count + 1))
                bytes.append(1)
                bytes += value
            }
        case .timestampArray(let values):
            bytes.append(integers: values.map { $0?.microseconds }, of: 1184)
        }
        return true
    }
}

/// PostgreSQL's binary format: big-endian numbers; arrays with a header and sized elements.
extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
    }

    fileprivate mutating func append(sized text: some Collection<UInt8>) {
        append(bigEndian: Int32(text.count))
        self += text
    }

    fileprivate mutating func append<Item>(
        array values: [Item], of type: Int32, hasNulls: Bool,
        _ each: (inout [UInt8], Item) -> Void
    ) {
        append(arrayHead: values.count, of: type, hasNulls: hasNulls)
        for value in values { each(&self, value) }
    }

    private mutating func append(arrayHead count: Int, of type: Int32, hasNulls: Bool) {
        // The number of dimensions, whether there are nulls, and the elements' type; then the
        // length and the first index.
        append(bigEndian: Int32(count == 0 ? 0 : 1))
        append(bigEndian: Int32(hasNulls ? 1 : 0))
        append(bigEndian: type)
        guard count > 0 else { return }
        append(bigEndian: Int32(count))
        append(bigEndian: Int32(1))
    }

    fileprivate mutating func append<Value: FixedWidthInteger>(
        integers values: [Value], of type: Int32
    ) {
        append(arrayHead: values.count, of: type, hasNulls: false)
        // Bulk operations spend most of their time here: reserve the size once, then fill.
        let width = Value.bitWidth / 8
        var place = count
        append(contentsOf: repeatElement(0, count: values.count * (width + 4)))
        unsafe withUnsafeMutableBytes { bytes in
            for value in values {
                unsafe bytes.storeBytes(
                    of: Int32(width).bigEndian, toByteOffset: place, as: Int32.self)
                unsafe bytes.storeBytes(
                    of: value.bigEndian, toByteOffset: place + 4, as: Value.self)
                place += width + 4
            }
        }
    }

    fileprivate mutating func append<Value: FixedWidthInteger>(
        integers values: [Value?], of type: Int32
    ) {
        append(array: values, of: type, hasNulls: true) { bytes, value in
            guard let value else { return bytes.append(bigEndian: Int32(-1)) }
            bytes.append(bigEndian: Int32(Value.bitWidth / 8))
            bytes.append(bigEndian: value)
        }
    }
}
