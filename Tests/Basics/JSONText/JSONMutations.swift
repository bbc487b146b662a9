/// JSON texts made at random from a seed, and damaged.
struct JSONMutations {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// A number below `limit` (SplitMix64).
    mutating func random(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
    }

    /// A valid object.
    mutating func object(depth: Int = 0) -> String {
        list("{", "}") { $0.string() + $0.space() + ":" + $0.value(depth: depth + 1) }
    }

    /// A valid object with up to four of its bytes deleted, doubled, swapped or replaced.
    mutating func damaged() -> [UInt8] {
        var bytes = Array(object().utf8)
        for _ in 0...random(below: 4) where bytes.count > 1 {
            let place = random(below: bytes.count)
            switch random(below: 5) {
            case 0: bytes.remove(at: place)
            case 1: bytes.insert(bytes[place], at: place)
            case 2: bytes.swapAt(place, random(below: bytes.count))
            case 3: bytes[place] = Self.significant[random(below: Self.significant.count)]
            default:
                bytes.insert(Self.significant[random(below: Self.significant.count)], at: place)
            }
        }
        return bytes
    }

    /// Bytes that mean something in JSON or in UTF-8.
    private static let significant: [UInt8] =
        Array(#"{}[]:,"\/-+.eE0123456789truefalsnbdDcC "#.utf8)
        + [0x01, 0x09, 0x0A, 0x0D, 0x1F, 0x7F, 0x80, 0xA0, 0xC2, 0xE9, 0xED, 0xF0, 0xFF]

    private mutating func value(depth: Int) -> String {
        let value =
            switch random(below: depth > 4 ? 6 : 8) {
            case 0: "true"
            case 1: "false"
            case 2: "null"
            case 3, 4: number()
            case 5: string()
            case 6: object(depth: depth)
            default: list("[", "]") { $0.value(depth: depth + 1) }
            }
        return space() + value + space()
    }

    private mutating func list(
        _ open: String, _ close: String, _ item: (inout JSONMutations) -> String
    ) -> String {
        let items = (0..<random(below: 4)).map { _ in space() + item(&self) }
        return open + items.joined(separator: ",") + space() + close
    }

    private mutating func number() -> String {
        var text = random(below: 2) == 0 ? "-" : ""
        text += String(random(below: 2) == 0 ? random(below: 10) : random(below: 1_000_000))
        if random(below: 2) == 0 { text += "." + String(random(below: 100)) }
        if random(below: 3) == 0 {
            text += ["e", "E", "e+", "E-"][random(below: 4)] + String(random(below: 20))
        }
        return text
    }

    private mutating func string() -> String {
        let parts = [
            "a", "kind", "é", "😀", #"\n"#, #"\""#, #"\\"#, #"\/"#, #"\u00e9"#, #"\ud83d\ude00"#,
            #"\uFFFF"#, " ", "0", "{", "\u{7F}",
        ]
        let text = (0..<random(below: 5)).map { _ in parts[random(below: parts.count)] }
        return "\"" + text.joined() + "\""
    }

    private mutating func space() -> String {
        random(below: 4) == 0 ? [" ", "\t", "\n", "\r", "  "][random(below: 5)] : ""
    }
}
