import ErrandPaymentFiles

/// Reads bank details as `BankBook` seals them: an object of JSON with texts of plain letters.
///
/// A run opens those of a million people twice, for which a general reader of JSON takes longer
/// than all the rest. What looks otherwise is left to that.
enum PlainDetails {
    /// Nil for what is of any other form, or not valid.
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

    /// `{"c":"CA","i":"003"}` with nothing between, and without escapes.
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

    /// Takes a text in quotes from the front.
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
