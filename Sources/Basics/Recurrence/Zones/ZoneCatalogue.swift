/// The names that a zone database lists.
struct ZoneCatalogue: Sendable {
    /// Ascending; zones and links, without those that `ZoneName` refuses.
    private(set) var names: [String] = []
    /// What each other name of a zone stands for.
    private(set) var links: [String: String] = [:]

    /// Reads the `Z` and `L` lines of `tzdata.zi`.
    init(tzdata bytes: [UInt8]) {
        var found: Set<String> = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard line.first == UInt8(ascii: "Z") || line.first == UInt8(ascii: "L") else {
                continue
            }
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 3)
            guard words.count >= 3, words[0].count == 1 else { continue }
            let second = String(decoding: words[1], as: UTF8.self)
            guard line.first == UInt8(ascii: "L") else {
                found.insert(second)
                continue
            }
            let name = String(decoding: words[2], as: UTF8.self)
            found.insert(name)
            links[name] = second
        }
        names = found.filter(ZoneName.isAcceptable).sorted()
    }

    /// Reads the third column of `zone1970.tab` or `zone.tab`.
    init(table bytes: [UInt8]) {
        var found: Set<String> = ZoneName.universal
        for line in bytes.split(separator: UInt8(ascii: "\n"))
        where line.first != UInt8(ascii: "#") {
            let columns = line.split(separator: UInt8(ascii: "\t"))
            if columns.count >= 3 { found.insert(String(decoding: columns[2], as: UTF8.self)) }
        }
        names = found.filter(ZoneName.isAcceptable).sorted()
    }

    /// Takes the paths below a folder that could be names.
    init(paths: [String]) {
        names = paths.filter(ZoneName.isAcceptable).sorted()
    }

    /// A catalogue of nothing.
    init() {}

    /// Leaves only the names that `isThere` accepts.
    func keeping(_ isThere: (String) -> Bool) -> ZoneCatalogue {
        var kept = self
        kept.names = names.filter(isThere)
        return kept
    }

    /// The first zone in an area, such as `America`.
    func first(in area: String) -> String? { names.first { $0.hasPrefix(area + "/") } }

    /// The name that was probably meant: another case, only the city, or a typing error.
    func nearest(to name: String) -> String? {
        let wanted = Self.folded(name)
        var best: (name: String, distance: Int)?
        for candidate in names {
            let folded = Self.folded(candidate)
            if folded == wanted { return candidate }
            let limit = (best?.distance ?? (min(wanted.count / 4, 3) + 1)) - 1
            guard limit >= 0 else { continue }
            // A name without an area is compared with the cities.
            let part =
                wanted.contains(UInt8(ascii: "/"))
                ? folded[...] : folded.split(separator: UInt8(ascii: "/")).last ?? folded[...]
            guard abs(part.count - wanted.count) <= limit else { continue }
            let distance = Self.distance(Array(part), wanted)
            if distance <= limit { best = (candidate, distance) }
        }
        return best?.name
    }

    private static func folded(_ name: String) -> [UInt8] {
        name.utf8.prefix(64).map { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte + 32
            case UInt8(ascii: " "): UInt8(ascii: "_")
            case UInt8(ascii: "\\"): UInt8(ascii: "/")
            default: byte
            }
        }
    }

    /// How many letters must be put in, left out, replaced or swapped with the next.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let isSame = left[row] == right[column]
                var least = min(
                    last[column] + (isSame ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1],
                    left[row - 1] == right[column]
                {
                    least = min(least, beforeLast[column - 1] + 1)
                }
                current.append(least)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
