import FoundationEssentials

/// A template file.
struct TemplateSource: Sendable, Equatable {
    /// The path in error messages.
    let path: String
    /// Lines end with LF; the last line without one.
    let bytes: [UInt8]

    private static let sizeLimit = 65_536

    /// Creates a template from the bytes of a file.
    init(path: String, file: [UInt8]) throws(TemplateError) {
        guard file.count <= Self.sizeLimit else {
            throw .unreadable(
                path: path, reason: "it has \(file.count) bytes, \(Self.sizeLimit) allowed")
        }
        guard String(validating: file, as: UTF8.self) != nil else {
            throw .unreadable(path: path, reason: "it is not UTF-8 text: save it as such")
        }
        var bytes = file[...]
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        var kept = bytes.filter { $0 != UInt8(ascii: "\r") }
        while let last = kept.last, last == 0x0A || last == 0x20 { kept.removeLast() }
        self.path = path
        self.bytes = kept
    }

    /// Returns the error at a byte.
    func wrong(at place: Int, _ expected: String) -> TemplateError {
        let before = bytes[..<min(place, bytes.count)]
        let lineStart = (before.lastIndex(of: 0x0A) ?? -1) + 1
        return .wrong(
            path: path, line: before.count { $0 == 0x0A } + 1,
            column: String(decoding: before[lineStart...], as: UTF8.self).count + 1,
            expected: expected)
    }

    /// Returns the blanks between the beginning of the line and a position; nil if there is other
    /// text.
    func indent(before place: Int) -> String? {
        let start = (bytes[..<place].lastIndex(of: 0x0A) ?? -1) + 1
        let blanks = bytes[start..<place]
        return blanks.allSatisfy { $0 == 0x20 } ? String(decoding: blanks, as: UTF8.self) : nil
    }

    /// Returns the ranges of the first line, without `mark`, and of the text after an empty line.
    func parts(
        after mark: String, _ what: String
    ) throws(TemplateError) -> (title: Range<Int>, text: Range<Int>) {
        let titleEnd = bytes.firstIndex(of: 0x0A) ?? bytes.count
        guard bytes.starts(with: mark.utf8), titleEnd > mark.utf8.count else {
            throw wrong(at: 0, mark.isEmpty ? "a \(what)" : "\(mark)and the \(what)")
        }
        guard titleEnd < bytes.count else {
            throw wrong(at: titleEnd, "an empty line and the text after the \(what)")
        }
        guard bytes[titleEnd + 1] == 0x0A else {
            throw wrong(at: titleEnd + 1, "an empty line after the \(what)")
        }
        return (mark.utf8.count..<titleEnd, titleEnd + 2..<bytes.count)
    }
}

/// The files of all locales: those of the program, overridden by those of an operator's folder.
struct TemplateSources {
    /// By locale and file name.
    private(set) var files: [String: [String: TemplateSource]] = [:]

    /// The locale that has every file.
    static let base = "en"

    /// Reads all files.
    ///
    /// - Parameters:
    ///   - texts: the program's templates, by `LOCALE/FILE`.
    ///   - folder: contains `LOCALE/KIND.CHANNEL…`; hidden files are ignored.
    ///   - expected: the permitted file names.
    init(
        _ texts: [NoticeText], folder: String?, expected: Set<String>
    ) throws(TemplateError) {
        for (path, text) in texts {
            let parts = path.split(separator: "/").map(String.init)
            guard parts.count == 2, expected.contains(parts[1]) else { continue }
            files[parts[0], default: [:]][parts[1]] = try TemplateSource(
                path: path, file: Array(text.utf8))
        }
        guard let folder else { return }
        for locale in try Self.names(in: folder) {
            let inner = "\(folder)/\(locale)"
            guard Self.isLocale(locale), NoticeLanguage(locale: locale) != nil else {
                let known = NoticeLanguage.allCases.map(\.rawValue).joined(separator: ", ")
                throw .stray(
                    path: inner,
                    expected: "a folder named by a locale whose language is known (\(known)), "
                        + "such as en or en-CA")
            }
            for name in try Self.names(in: inner) {
                let path = "\(inner)/\(name)"
                guard expected.contains(name) else {
                    throw .stray(
                        path: path,
                        expected: "a declared kind and one of its channels, such as "
                            + "coupon.nearby.push.txt, or layout.email.txt or .html")
                }
                guard let data = FileManager.default.contents(atPath: path) else {
                    throw .unreadable(path: path, reason: "is it a file that may be read?")
                }
                files[locale, default: [:]][name] = try TemplateSource(
                    path: path, file: Array(data))
            }
        }
    }

    /// Returns whether a name has the form `en` or `en-CA`.
    private static func isLocale(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard let language = parts.first, (2...3).contains(language.utf8.count),
            language.utf8.allSatisfy({ (0x61...0x7A).contains($0) }), parts.count <= 2
        else { return false }
        return parts.dropFirst().allSatisfy { region in
            region.utf8.count == 2 && region.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        }
    }

    private static func names(in folder: String) throws(TemplateError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder)
                .filter { !$0.hasPrefix(".") }.sorted()
        } catch {
            throw .unreadable(path: folder, reason: "is it a folder that may be read?")
        }
    }
}
