/// Why the bytes of a file are no zone.
enum ZoneFileProblem: Error, Equatable, CustomStringConvertible {
    case notTZif
    case version(UInt8)
    case truncated(part: String, needs: Int, has: Int)
    case noTypes
    case tooManyTypes(Int)
    case indicators(String, count: Int, types: Int)
    case leapSeconds
    case notAscending(transition: Int)
    case typeIndex(Int, types: Int)
    case offset(Int)
    case daylightFlag(UInt8)
    case abbreviationIndex(Int, characters: Int)
    case abbreviationEnd
    case noFooter
    case footerWithoutEnd
    case footerCharacter(UInt8)
    case rule(String, PosixRuleProblem)

    var description: String {
        switch self {
        case .notTZif: "it does not begin with \"TZif\""
        case .version(let byte): "its version is byte \(byte), which no standard knows"
        case .truncated(let part, let needs, let has):
            "it is cut off: its \(part) takes \(needs) bytes, and \(has) are left"
        case .noTypes: "it has no local time type"
        case .tooManyTypes(let count): "it has \(count) local time types, 256 at most can be"
        case .indicators(let kind, let count, let types):
            "it has \(count) \(kind) indicators for \(types) local time types"
        case .leapSeconds: "it counts leap seconds, which the clocks here do not"
        case .notAscending(let index): "its transition \(index) is not after the one before"
        case .typeIndex(let index, let types):
            "a transition is to local time type \(index), and there are \(types)"
        case .offset(let seconds): "an offset of \(seconds) seconds is more than any clock has"
        case .daylightFlag(let byte): "a daylight flag is \(byte) instead of 0 or 1"
        case .abbreviationIndex(let index, let characters):
            "an abbreviation begins at character \(index), and there are \(characters)"
        case .abbreviationEnd: "its last abbreviation has no end"
        case .noFooter: "no footer follows its data"
        case .footerWithoutEnd: "it is cut off in its footer"
        case .footerCharacter(let byte): "its footer has byte \(byte), which is no ASCII text"
        case .rule(let text, let problem): "in its footer \"\(text)\" \(problem)"
        }
    }
}

/// Reads compiled zones as RFC 9636 defines them.
struct ZoneFile {
    private let bytes: [UInt8]
    private var place = 0

    /// What a file with these bytes says.
    ///
    /// Bytes after the footer are left to versions of the format that are still to come.
    static func table(of bytes: [UInt8]) throws(ZoneFileProblem) -> ZoneTable {
        var file = ZoneFile(bytes: bytes)
        var header = try file.readHeader()
        guard header.version != 0 else {
            try file.check(header)
            return try file.readBlock(header, timeSize: 4, rule: nil)
        }
        // Times of 32 bits come first, for readers of version 1.
        try file.skip(header.blockSize(timeSize: 4), "data of version 1")
        header = try file.readHeader()
        try file.check(header)
        let block = file
        try file.skip(header.blockSize(timeSize: 8), "data")
        let rule = try file.readFooter()
        file = block
        return try file.readBlock(header, timeSize: 8, rule: rule)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// The counts that precede a block of data.
    private struct Header {
        var version: UInt8
        var utIndicators: Int
        var standardIndicators: Int
        var leapSeconds: Int
        var transitions: Int
        var types: Int
        var characters: Int

        /// No count is above 32 bits, so that nothing overflows here.
        func blockSize(timeSize: Int) -> Int {
            transitions * (timeSize + 1) + types * 6 + characters
                + leapSeconds * (timeSize + 4) + standardIndicators + utIndicators
        }
    }

    private mutating func skip(_ count: Int, _ part: String) throws(ZoneFileProblem) {
        let left = bytes.count - place
        guard count <= left else { throw .truncated(part: part, needs: count, has: left) }
        place += count
    }

    /// A signed number, the most significant byte first.
    private func number(at index: Int, size: Int) -> Int {
        var value = Int(Int8(bitPattern: bytes[index]))
        for following in index + 1..<index + size { value = value << 8 | Int(bytes[following]) }
        return value
    }

    private mutating func readHeader() throws(ZoneFileProblem) -> Header {
        let begin = place
        guard bytes[place...].starts(with: "TZif".utf8) else { throw .notTZif }
        try skip(44, "header")
        let version = bytes[begin + 4]
        guard version == 0 || version >= UInt8(ascii: "2") else { throw .version(version) }
        func count(_ index: Int) -> Int {
            number(at: begin + 20 + 4 * index, size: 4) & 0xFFFF_FFFF
        }
        return Header(
            version: version, utIndicators: count(0), standardIndicators: count(1),
            leapSeconds: count(2), transitions: count(3), types: count(4), characters: count(5))
    }

    private mutating func readBlock(
        _ header: Header, timeSize: Int, rule: PosixRule?
    ) throws(ZoneFileProblem) -> ZoneTable {
        let times = place
        try skip(header.blockSize(timeSize: timeSize), "data")
        let indices = times + header.transitions * timeSize
        let types = indices + header.transitions
        let offsets = try readTypes(header, at: types)
        var transitions: [(time: Int, offset: Int)] = []
        transitions.reserveCapacity(header.transitions)
        for index in 0..<header.transitions {
            let time = number(at: times + index * timeSize, size: timeSize)
            if let last = transitions.last, last.time >= time {
                throw .notAscending(transition: index + 1)
            }
            let type = Int(bytes[indices + index])
            guard type < offsets.count else {
                throw .typeIndex(type, types: offsets.count)
            }
            transitions.append((time, offsets[type]))
        }
        return ZoneTable(initial: offsets[0], transitions: transitions, rule: rule)
    }

    private func check(_ header: Header) throws(ZoneFileProblem) {
        guard header.leapSeconds == 0 else { throw .leapSeconds }
        guard header.types > 0 else { throw .noTypes }
        // A transition names its type with one byte.
        guard header.types <= 256 else { throw .tooManyTypes(header.types) }
        for (kind, count) in [
            ("UT", header.utIndicators), ("standard", header.standardIndicators),
        ] where count != 0 && count != header.types {
            throw .indicators(kind, count: count, types: header.types)
        }
    }

    /// The offset of each local time type.
    private func readTypes(_ header: Header, at begin: Int) throws(ZoneFileProblem) -> [Int] {
        let names = begin + header.types * 6
        guard header.characters == 0 || bytes[names + header.characters - 1] == 0 else {
            throw .abbreviationEnd
        }
        var offsets: [Int] = []
        for index in 0..<header.types {
            let type = begin + index * 6
            let offset = number(at: type, size: 4)
            // RFC 9636's range: more than a day, because a zone may move over the date line.
            guard (-89_999...93_599).contains(offset) else { throw .offset(offset) }
            guard bytes[type + 4] <= 1 else { throw .daylightFlag(bytes[type + 4]) }
            let name = Int(bytes[type + 5])
            guard name < header.characters else {
                throw .abbreviationIndex(name, characters: header.characters)
            }
            offsets.append(offset)
        }
        return offsets
    }

    /// The rule between two newlines; nil when nothing stands there.
    private mutating func readFooter() throws(ZoneFileProblem) -> PosixRule? {
        let newline = UInt8(ascii: "\n")
        guard place < bytes.count, bytes[place] == newline else { throw .noFooter }
        let rest = bytes[(place + 1)...]
        guard let end = rest.firstIndex(of: newline) else { throw .footerWithoutEnd }
        let line = rest[..<end]
        if let wrong = line.first(where: { !(32..<127).contains($0) }) {
            throw .footerCharacter(wrong)
        }
        guard !line.isEmpty else { return nil }
        let text = String(decoding: line, as: UTF8.self)
        do {
            return try PosixRule(parsing: text)
        } catch {
            throw .rule(text, error)
        }
    }
}
