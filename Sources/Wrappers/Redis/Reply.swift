import CErrandRedis

/// A reply of the server.
public enum Reply: Sendable, Equatable {
    case null
    case integer(Int64)
    case string([UInt8])
    case status(String)
    case array([Reply])
    case error(String)

    /// The number, also from its text.
    public var int: Int64? {
        switch self {
        case .integer(let value): value
        case .string, .status: text.flatMap(Int64.init)
        default: nil
        }
    }

    /// The text, or the digits of a number.
    public var text: String? {
        switch self {
        case .string(let bytes): String(decoding: bytes, as: UTF8.self)
        case .status(let text): text
        case .integer(let value): String(value)
        default: nil
        }
    }

    /// The elements.
    public var array: [Reply]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// Whether the reply is null.
    public var isNull: Bool { self == .null }

    /// Copies a reply from hiredis's memory, which the caller frees.
    @safe init(_ reply: UnsafePointer<redisReply>) {
        let value = unsafe reply.pointee
        switch unsafe value.type {
        case REDIS_REPLY_INTEGER: self = unsafe .integer(value.integer)
        case REDIS_REPLY_STRING: self = unsafe .string(Reply.bytes(of: value))
        case REDIS_REPLY_STATUS:
            self = unsafe .status(String(decoding: Reply.bytes(of: value), as: UTF8.self))
        case REDIS_REPLY_ERROR:
            self = unsafe .error(String(decoding: Reply.bytes(of: value), as: UTF8.self))
        case REDIS_REPLY_ARRAY:
            var elements: [Reply] = []
            unsafe elements.reserveCapacity(value.elements)
            for place in 0..<(unsafe value.elements) {
                guard let element = unsafe value.element[place] else { continue }
                elements.append(Reply(element))
            }
            self = .array(elements)
        default: self = .null
        }
    }

    private static func bytes(of value: redisReply) -> [UInt8] {
        guard let start = unsafe value.str else { return [] }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: value.len))
    }

    /// Collects all numbers of a reply, including nested arrays, without a `Reply` for each.
    @safe static func collectIntegers(
        _ reply: UnsafePointer<redisReply>, into numbers: inout [Int64]
    ) throws(RedisError) {
        let value = unsafe reply.pointee
        switch unsafe value.type {
        case REDIS_REPLY_INTEGER: numbers.append(unsafe value.integer)
        case REDIS_REPLY_STRING:
            guard let start = unsafe value.str else { return }
            let digits = unsafe UnsafeRawBufferPointer(start: start, count: value.len)
            guard let number = unsafe decimal(digits) else {
                throw .server("expected a number, not \"\((Reply(reply).text ?? "").prefix(100))\"")
            }
            numbers.append(number)
        case REDIS_REPLY_ARRAY:
            unsafe numbers.reserveCapacity(numbers.count + value.elements)
            for place in 0..<(unsafe value.elements) {
                guard let element = unsafe value.element[place] else { continue }
                try collectIntegers(element, into: &numbers)
            }
        default: break
        }
    }

    private static func decimal(_ digits: UnsafeRawBufferPointer) -> Int64? {
        var number: Int64 = 0
        var isNegative = false
        var isEmpty = true
        for place in digits.indices {
            let byte = unsafe digits[place]
            if place == 0, byte == UInt8(ascii: "-") {
                isNegative = true
                continue
            }
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (product, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, more) = product.subtractingReportingOverflow(Int64(byte - 0x30))
            guard !overflow, !more else { return nil }
            number = sum
            isEmpty = false
        }
        // Parse negative numbers, because the smallest one has no positive counterpart.
        if isEmpty || (!isNegative && number == .min) { return nil }
        return isNegative ? number : -number
    }
}
