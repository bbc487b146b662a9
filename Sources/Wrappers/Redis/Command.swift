/// A command in the form of the protocol (RESP, "array of bulk strings").
///
/// All arguments are in one buffer: a ZADD of thousands of pairs takes few allocations.
public struct Command: Sendable {
    private var arguments = Arguments()

    /// Creates a command with its first arguments.
    public init(_ words: String...) {
        for word in words { arguments.append(word) }
    }

    init(_ words: [String], _ rest: Arguments) {
        for word in words { arguments.append(word) }
        arguments.append(contentsOf: rest)
    }

    /// Adds a text.
    public mutating func append(_ text: String) { arguments.append(text) }
    /// Adds a number in decimal.
    public mutating func append(_ number: some FixedWidthInteger) { arguments.append(number) }

    /// The bytes of the whole command.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(arguments.bytes.count + 16)
        bytes.append(UInt8(ascii: "*"))
        bytes.appendDecimal(UInt64(arguments.count))
        bytes.append(0x0D)
        bytes.append(0x0A)
        bytes += arguments.bytes
        return bytes
    }
}

/// The arguments of a script, in the form of the protocol.
public struct Arguments: Sendable {
    fileprivate(set) var bytes: [UInt8] = []
    fileprivate(set) var count = 0

    /// Creates an empty list.
    public init() {}

    /// Adds a text.
    public mutating func append(_ text: String) {
        header(text.utf8.count)
        bytes += text.utf8
        end()
    }

    /// Adds a number in decimal.
    public mutating func append(_ number: some FixedWidthInteger) {
        let magnitude = UInt64(number.magnitude)
        let isNegative = number < 0
        header(magnitude.decimalDigits + (isNegative ? 1 : 0))
        if isNegative { bytes.append(UInt8(ascii: "-")) }
        bytes.appendDecimal(magnitude)
        end()
    }

    mutating func append(contentsOf other: Arguments) {
        bytes += other.bytes
        count += other.count
    }

    private mutating func header(_ length: Int) {
        bytes.append(UInt8(ascii: "$"))
        bytes.appendDecimal(UInt64(length))
        bytes.append(0x0D)
        bytes.append(0x0A)
    }

    private mutating func end() {
        bytes.append(0x0D)
        bytes.append(0x0A)
        count += 1
    }
}

extension UInt64 {
    fileprivate var decimalDigits: Int {
        var digits = 1
        var rest = self / 10
        while rest > 0 {
            digits += 1
            rest /= 10
        }
        return digits
    }
}

extension [UInt8] {
    fileprivate mutating func appendDecimal(_ number: UInt64) {
        let digits = number.decimalDigits
        let end = count + digits
        append(contentsOf: repeatElement(0, count: digits))
        var rest = number
        for place in 1...digits {
            self[end - place] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }
}

/// A Lua script that runs inside Redis.
///
/// The server identifies a loaded script by its SHA-1.
public struct Script: Sendable {
    let source: String

    /// Creates a script.
    ///
    /// The server returns its SHA-1 when it loads the script.
    public init(_ source: String) { self.source = source }
}
