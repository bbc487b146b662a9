import ErrandJSONText

/// Reads an object of a JSON settings file key by key.
///
/// Errors name the key but never the value, because some values are account numbers.
struct ProfileReader {
    /// The path of the object, such as `aft.CAD`; empty for the whole file.
    let path: String
    private let values: [String: JSONValue]

    /// - Throws: ``PayoutError/invalid(_:)``
    init(_ json: [UInt8]) throws(PayoutError) {
        let value: JSONValue
        do throws(JSONSyntaxError) { value = try JSONValue(parsing: json[...]) } catch {
            throw .invalid("the payout profile is not valid JSON: \(error)")
        }
        guard case .object(let members) = value else {
            throw .invalid("the payout profile is not a JSON object")
        }
        self.init(path: "", members)
    }

    private init(path: String, _ members: [JSONValue.Member]) {
        self.path = path
        values = Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
    }

    /// The keys, sorted.
    var keys: [String] { values.keys.sorted() }

    /// The path of a key.
    func place(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func refusal(_ key: String, _ expected: String) -> PayoutError {
        .invalid("\(place(key)): expected \(expected)")
    }

    /// Refuses unknown keys, which are probably misspelled.
    func allow(_ allowed: [String]) throws(PayoutError) {
        for key in keys where !allowed.contains(key) {
            throw .invalid(
                "\(place(key)): no such setting; expected "
                    + allowed.joined(separator: ", "))
        }
    }

    func has(_ key: String) -> Bool { values[key] != nil }

    func object(_ key: String) throws(PayoutError) -> ProfileReader {
        guard case .object(let members) = values[key] else { throw refusal(key, "an object") }
        return ProfileReader(path: place(key), members)
    }

    /// - Parameter standard: the default value; nil if the key is required.
    func text(_ key: String, or standard: String? = nil) throws(PayoutError) -> String {
        switch values[key] {
        case .text(let text): return text
        case nil:
            guard let standard else { throw refusal(key, "a string, but it is missing") }
            return standard
        default: throw refusal(key, "a string")
        }
    }

    func texts(_ key: String, atMost count: Int) throws(PayoutError) -> [String] {
        guard let value = values[key] else { return [] }
        guard case .array(let list) = value, list.count <= count else {
            throw refusal(key, "a list of at most \(count) strings")
        }
        var texts: [String] = []
        for item in list {
            guard case .text(let text) = item else { throw refusal(key, "a list of strings") }
            texts.append(text)
        }
        return texts
    }

    func flag(_ key: String, or standard: Bool) throws(PayoutError) -> Bool {
        switch values[key] {
        case .bool(let flag): return flag
        case nil: return standard
        default: throw refusal(key, "true or false")
        }
    }

    func number(
        _ key: String, or standard: Int64, in range: ClosedRange<Int64>
    ) throws(PayoutError) -> Int64 {
        let whole: Int64? =
            switch values[key] {
            case .int(let number): Int64(number)
            case .double(let number): Int64(exactly: number)
            case nil: standard
            default: nil
            }
        guard let whole, range.contains(whole) else {
            throw refusal(key, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return whole
    }

    /// Reads a case of an enumeration.
    func word<Word: RawRepresentable & CaseIterable>(
        _ key: String, or standard: Word
    ) throws(PayoutError) -> Word where Word.RawValue == String {
        guard has(key) else { return standard }
        guard let word = Word(rawValue: try text(key)) else {
            throw refusal(key, Word.allCases.map(\.rawValue).joined(separator: " or "))
        }
        return word
    }
}
