import FoundationEssentials

/// A value of JSON.
private enum JSONValue: Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([JSONValue].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }
}

/// Reads an object of a file of settings key by key; what is wrong is named by its key, and no
/// value is repeated, because some are account numbers.
struct ProfileReader {
    /// Where it stands, such as `aft.CAD`; empty for the whole file.
    let path: String
    private let values: [String: JSONValue]

    /// - Throws: ``PayoutError/invalid(_:)``
    init(_ json: [UInt8]) throws(PayoutError) {
        do { values = try JSONDecoder().decode([String: JSONValue].self, from: Data(json)) } catch {
            throw .invalid("the profile of who pays is no JSON object")
        }
        path = ""
    }

    private init(path: String, values: [String: JSONValue]) {
        self.path = path
        self.values = values
    }

    /// The keys that are there, in their order.
    var keys: [String] { values.keys.sorted() }

    /// Where a key of it stands.
    func place(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func refusal(_ key: String, _ expected: String) -> PayoutError {
        .invalid("\(place(key)): expected \(expected)")
    }

    /// Refuses keys that nobody reads: they are misspelt, and what they should set is not set.
    func allow(_ allowed: [String]) throws(PayoutError) {
        for key in keys where !allowed.contains(key) {
            throw .invalid(
                "\(place(key)): there is no such setting; expected "
                    + allowed.joined(separator: ", "))
        }
    }

    func has(_ key: String) -> Bool { values[key] != nil }

    func object(_ key: String) throws(PayoutError) -> ProfileReader {
        guard case .object(let values) = values[key] else { throw refusal(key, "an object") }
        return ProfileReader(path: place(key), values: values)
    }

    /// - Parameter standard: what holds without the key; nil when it must be there.
    func text(_ key: String, or standard: String? = nil) throws(PayoutError) -> String {
        switch values[key] {
        case .text(let text): return text
        case nil:
            guard let standard else { throw refusal(key, "a text, and found nothing") }
            return standard
        default: throw refusal(key, "a text in quotes")
        }
    }

    func texts(_ key: String, atMost count: Int) throws(PayoutError) -> [String] {
        guard let value = values[key] else { return [] }
        guard case .list(let list) = value, list.count <= count else {
            throw refusal(key, "a list of at most \(count) texts")
        }
        var texts: [String] = []
        for item in list {
            guard case .text(let text) = item else { throw refusal(key, "a list of texts") }
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
        switch values[key] {
        case .number(let number):
            guard let whole = Int64(exactly: number), range.contains(whole) else { break }
            return whole
        case nil: return standard
        default: break
        }
        throw refusal(key, "a whole number from \(range.lowerBound) to \(range.upperBound)")
    }

    /// One of the words of an enumeration.
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
