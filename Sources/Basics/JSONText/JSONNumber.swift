extension JSONCursor {
    /// Reads a whole number of 64 bits, without fraction or exponent.
    package mutating func wholeNumber() throws(JSONSyntaxError) -> Int64 {
        let start = at
        if peek == UInt8(ascii: "-") { at += 1 }
        let digits = at
        var value: Int64 = 0
        while let byte = peek, (0x30...0x39).contains(byte) {
            // Counted downwards, where there is one number more.
            let (tens, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooMuch) = tens.subtractingReportingOverflow(Int64(byte - 0x30))
            guard !isTooLarge, !isTooMuch else { throw tooLarge(at: start) }
            value = sum
            at += 1
        }
        let isWhole = at == digits + 1 || at > digits && bytes[digits] != UInt8(ascii: "0")
        let next = peek ?? 0
        guard isWhole, ![0x2E, 0x45, 0x65].contains(next) else {
            throw expected("a whole number", at: start)
        }
        if digits > start { return value }
        guard value != .min else { throw tooLarge(at: start) }
        return -value
    }

    private func tooLarge(at start: Int) -> JSONSyntaxError {
        expected("a number that fits into 64 bits", at: start)
    }

    /// Goes behind a number.
    mutating func skipNumber() throws(JSONSyntaxError) {
        let start = at
        if peek == UInt8(ascii: "-") { at += 1 }
        let whole = at
        if peek == UInt8(ascii: "0") {
            at += 1
        } else {
            try skipDigits("a value")
        }
        let point = at
        if peek == UInt8(ascii: ".") {
            at += 1
            try skipDigits("a digit")
        }
        let end = at
        var exponent = 0
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            at += 1
            let isNegative = peek == UInt8(ascii: "-")
            if isNegative || peek == UInt8(ascii: "+") { at += 1 }
            let first = at
            try skipDigits("a digit")
            let size = Int(String(decoding: bytes[first..<at], as: UTF8.self)) ?? Int(Int32.max)
            exponent = isNegative ? -size : size
        }
        guard Self.isStorable(bytes[whole..<end], wholeDigits: point - whole, exponent) else {
            at = start
            throw expected("a number with up to 131072 digits before the point and 16383 after it")
        }
    }

    /// Whether PostgreSQL's `numeric` can hold a number.
    private static func isStorable(
        _ digits: ArraySlice<UInt8>, wholeDigits: Int, _ exponent: Int
    ) -> Bool {
        // Most numbers are far from any limit.
        if digits.count < 1_000, abs(exponent) < 1_000 { return true }
        // PostgreSQL takes no larger exponent, not even of zero.
        guard abs(exponent) < Int(Int32.max) / 2 else { return false }
        let decimals = max(digits.count - wholeDigits - 1, 0) - exponent
        guard decimals <= 16_383 else { return false }
        guard let first = digits.firstIndex(where: { (0x31...0x39).contains($0) }) else {
            return true
        }
        let place = first - digits.startIndex
        // How many digits stand from the first one that counts to the point.
        let above = place < wholeDigits ? wholeDigits - place : wholeDigits + 1 - place
        return above + exponent <= 131_072
    }

    private mutating func skipDigits(_ what: String) throws(JSONSyntaxError) {
        let start = at
        while let byte = peek, (0x30...0x39).contains(byte) { at += 1 }
        guard at > start else { throw expected(what) }
    }
}
