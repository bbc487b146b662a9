/// Masks what may lead to a person in what people wrote: URLs, mail addresses, long numbers, street
/// addresses, postal codes, and names that follow a title.
///
/// Best effort: a name without a title stays, for example. Works on UTF-8 in one pass per kind,
/// in time proportional to the length.
package enum TextMask {
    /// What stands for what was masked.
    package static let mark = "[…]"

    /// Returns the text with its personal parts masked, and white space and control characters
    /// collapsed to single spaces.
    package static func masked(_ text: String) -> String {
        let words = text.unicodeScalars.split { isBlank($0) }.map { Word(String($0)) }
        var isMasked = words.map { $0.isAddress }
        for place in words.indices where words[place].isAt || words[place].text.hasPrefix("@") {
            isMasked[place] = true
            if place > 0 { isMasked[place - 1] = true }
            if words[place].isAt, place + 1 < words.count { isMasked[place + 1] = true }
        }
        maskNumbers(words, &isMasked)
        maskStreets(words, &isMasked)
        maskNames(words, &isMasked)
        maskPostalCodes(words, &isMasked)
        var result = ""
        var wasMasked = false
        for (word, hides) in zip(words, isMasked) {
            // One mark for several words in a row.
            if hides, wasMasked { continue }
            if !result.isEmpty { result += " " }
            result += hides ? mark : word.text
            wasMasked = hides
        }
        return result
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.value < 0x20 || scalar.value == 0x7F
            || scalar.properties.generalCategory == .format
    }

    private struct Word {
        let text: String
        /// Lower case, without punctuation at its ends.
        let bare: String
        let digits: Int
        /// Only digits and what separates them in numbers.
        let isNumber: Bool
        let startsUpper: Bool

        init(_ text: String) {
            self.text = text
            let isEdge = { (letter: Character) in !letter.isLetter && !letter.isNumber }
            let inner = text.drop(while: isEdge)
            var kept = inner
            while let last = kept.last, isEdge(last) { kept.removeLast() }
            bare = kept.lowercased()
            digits = text.reduce(0) { $0 + ($1.isNumber ? 1 : 0) }
            isNumber = digits > 0 && text.allSatisfy { $0.isNumber || "+-().,/:;!?x#".contains($0) }
            startsUpper = inner.first?.isUppercase ?? false
        }

        /// Whether it only stands between the parts of a number.
        var isSeparator: Bool { text.allSatisfy { "+-().,/:–—·".contains($0) } }

        /// Whether it is an @ of an address in several words: ann @ example.org, ann (at) example.
        var isAt: Bool {
            ["@", "\u{FF20}", "(at)", "[at]", "<at>"].contains(text.lowercased())
        }

        /// Whether it is a URL, a mail address, a handle or the name of a host.
        var isAddress: Bool {
            // The full-width @ too.
            if text.contains("@") || text.contains("\u{FF20}") { return true }
            if text.contains("://") || bare.hasPrefix("www.") { return true }
            let host = bare.prefix { $0 != "/" && $0 != "?" && $0 != ":" }
            guard let dot = host.lastIndex(of: "."), dot != host.startIndex else { return false }
            let end = host[host.index(after: dot)...]
            return TextMask.domains.contains(String(end))
        }
    }

    private static let domains: Set<String> = [
        "com", "ca", "org", "net", "fr", "qc", "io", "co", "uk", "de", "info", "biz", "me", "app",
        "us", "eu", "be", "ch", "cm", "sn", "ci", "edu", "gov", "ly", "gl", "tv", "dev", "shop",
    ]

    /// Masks numbers of six digits and more, in one word or in several, such as 514 555-0199.
    private static func maskNumbers(_ words: [Word], _ isMasked: inout [Bool]) {
        var start = 0
        while start < words.count {
            guard words[start].isNumber else {
                if words[start].digits >= 6 { isMasked[start] = true }
                start += 1
                continue
            }
            var end = start
            var digits = 0
            // 514 - 555 - 0199: a separator between two numbers goes on with them.
            while end < words.count,
                words[end].isNumber
                    || words[end].isSeparator && end + 1 < words.count && words[end + 1].isNumber
            {
                digits += words[end].digits
                end += 1
            }
            if digits >= 6 { for place in start..<end { isMasked[place] = true } }
            start = end
        }
    }

    private static let streets: Set<String> = [
        "street", "st", "avenue", "ave", "av", "road", "rd", "boulevard", "blvd", "boul", "lane",
        "drive", "dr", "court", "ct", "place", "square", "highway", "hwy", "rue", "chemin", "ch",
        "route", "rte", "allée", "quai", "impasse", "straße", "strasse", "calle", "avenida", "via",
        "apt", "apartment", "appartement", "suite", "unit",
    ]

    /// Masks a house number and the words around its street: 12 rue Rachel, 4021 Park Avenue.
    private static func maskStreets(_ words: [Word], _ isMasked: inout [Bool]) {
        for (place, word) in words.enumerated() where streets.contains(word.bare) {
            // A number up to three words before: 12, rue; 4021 Mont Royal Avenue.
            if let number = (max(0, place - 3)..<place).last(where: { isHouse(words[$0]) }) {
                for hidden in number...place { isMasked[hidden] = true }
                var next = place + 1
                while next < words.count, next <= place + 4, isPartOfName(words[next]) {
                    isMasked[next] = true
                    next += 1
                }
            } else if let number = (place + 1..<min(words.count, place + 4)).first(
                where: { isHouse(words[$0]) })
            {
                // Calle Mayor 5, apt 12.
                for hidden in place...number { isMasked[hidden] = true }
            }
        }
        // Hauptstraße 5.
        for (place, word) in words.enumerated().dropLast()
        where word.bare.hasSuffix("straße") || word.bare.hasSuffix("strasse") {
            if isHouse(words[place + 1]) {
                isMasked[place] = true
                isMasked[place + 1] = true
            }
        }
    }

    private static func isHouse(_ word: Word) -> Bool {
        (1...5).contains(word.digits) && word.bare.first?.isNumber == true && word.bare.count <= 7
    }

    private static func isPartOfName(_ word: Word) -> Bool {
        word.startsUpper || isHouse(word)
            || ["de", "la", "le", "du", "des", "of", "the", "saint", "st"].contains(word.bare)
    }

    private static let titles: Set<String> = [
        "mr", "mrs", "ms", "miss", "mx", "dr", "prof", "sir", "madam", "m", "mme", "mlle",
        "monsieur", "madame", "mademoiselle", "docteur", "herr", "frau", "señor", "señora", "sr",
        "sra",
    ]

    /// Masks up to three words in capitals behind a title: Mrs Ann Lee.
    private static func maskNames(_ words: [Word], _ isMasked: inout [Bool]) {
        for (place, word) in words.enumerated() where titles.contains(word.bare) {
            // The letter M alone is a title in capitals only.
            if word.bare == "m", !word.startsUpper { continue }
            var next = place + 1
            while next < words.count, next <= place + 3, words[next].startsUpper {
                isMasked[next] = true
                let ends = words[next].text.last.map { ",.;:!?".contains($0) } ?? false
                next += 1
                if ends { break }
            }
        }
    }

    /// Masks postal codes of Canada, in one word or two, and of Britain in two.
    private static func maskPostalCodes(_ words: [Word], _ isMasked: inout [Bool]) {
        for (place, word) in words.enumerated() {
            let shape = shape(of: word.bare)
            if shape == "A9A9A9" { isMasked[place] = true }
            guard place + 1 < words.count else { continue }
            let next = Self.shape(of: words[place + 1].bare)
            let isOutward = ["A9", "A99", "AA9", "AA99", "A9A", "AA9A"].contains(shape)
            if shape == "A9A" && next == "9A9" || isOutward && next == "9AA" {
                isMasked[place] = true
                isMasked[place + 1] = true
            }
        }
    }

    private static func shape(of word: String) -> String {
        guard word.utf8.count <= 7 else { return "" }
        return String(
            word.compactMap { letter -> Character? in
                letter == "-" ? nil : letter.isNumber ? "9" : letter.isLetter ? "A" : "?"
            })
    }
}
