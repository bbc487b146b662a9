/// The parameters of a statement in one buffer, in libpq's form.
struct EncodedParameters {
    private var bytes: [UInt8] = []
    private var starts: [Int] = []
    private var lengths: [Int32] = []

    /// - Throws: `.usage` if they exceed the limits of the protocol.
    init(_ parameters: [Parameter]) throws(PostgresError) {
        starts.reserveCapacity(parameters.count)
        lengths.reserveCapacity(parameters.count)
        bytes.reserveCapacity(parameters.count * 8 + 1)
        for parameter in parameters {
            let start = bytes.count
            let isValue = parameter.encode(into: &bytes)
            starts.append(isValue ? start : -1)
            guard let length = Int32(exactly: bytes.count - start) else {
                throw .usage("a parameter may have at most 2 GB")
            }
            lengths.append(length)
        }
        // An empty value needs an address too, because a null pointer means NULL.
        bytes.append(0)
    }

    @safe func withPointers<Value>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Value
    ) -> Value {
        let formats = [Int32](repeating: 1, count: starts.count)
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                let values = unsafe starts.map { start in
                    unsafe start < 0 ? nil : text.baseAddress?.advanced(by: start)
                }
                return unsafe body(values, lengths, formats)
            }
        }
    }
}
