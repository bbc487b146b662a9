import ErrandPaymentFiles

/// A fast parser of bank details in the form that `BankBook` seals: a JSON object of ASCII strings.
///
/// A run opens the details of a million people twice, and a general JSON parser would take most
/// of its time. `BankBook` parses other forms with that.
enum PlainDetails {
    /// Returns the details; nil if they have another form or are not valid.
    static func read(_ bytes: [UInt8]) -> BankDetails? {
        guard let parts = members(bytes) else { return nil }
        switch parts["c"] {
        case "CA":
            guard parts.count == 4, let institution = parts["i"], let transit = parts["t"],
                let account = parts["a"]
            else { return nil }
            return
                (try? CanadianAccount(
                    institution: institution, transit: transit, account: account))
                .map(BankDetails.canada)
        case "US":
            guard parts.count == 4, let routing = parts["r"], let account = parts["a"],
                let kind = parts["k"].flatMap(AmericanAccount.Kind.init(rawValue:))
            else { return nil }
            return (try? AmericanAccount(routing: routing, account: account, kind: kind))
                .map(BankDetails.unitedStates)
        default: return nil
        }
    }

    /// Parses `{"c":"CA","i":"003"}` without whitespace and escapes.
    private static func members(_ bytes: [UInt8]) -> [String: String]? {
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}")
        else { return nil }
        var parts: [String: String] = [:]
        var rest = bytes.dropFirst()
        while true {
            guard let key = text(&rest), rest.popFirst() == UInt8(ascii: ":"),
                let value = text(&rest), parts.updateValue(value, forKey: key) == nil
            else { return nil }
            switch rest.popFirst() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "}"): return rest.isEmpty ? parts : nil
            default: return nil
            }
        }
    }

    /// Removes a quoted string from the front and returns it.
    private static func text(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard rest.popFirst() == UInt8(ascii: "\""),
            let end = rest.firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        let text = rest[rest.startIndex..<end]
        guard text.allSatisfy({ (32...126).contains($0) && $0 != UInt8(ascii: "\\") }) else {
            return nil
        }
        rest = rest[(end + 1)...]
        return String(decoding: text, as: UTF8.self)
    }
}
