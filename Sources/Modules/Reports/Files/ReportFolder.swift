import ErrandCrypto
import ErrandDurableFiles
import FoundationEssentials

/// The folder of one revision of a report: its files and `manifest.json`, which is written last.
///
/// The folder is accessible to its owner only (0700), and so are its files (0600); see
/// `PrivateFolder` and `FileDraft`. Making the same revision again gives the same bytes.
package struct ReportFolder {
    package static let manifestName = "manifest.json"
    /// Every name that a report can have.
    package static let names = [
        ReportCSV.name, ReportPDF.name, StatementFiles.csvName, StatementFiles.pdfName,
        manifestName,
    ]

    /// A file of a revision.
    package struct File: Codable, Sendable, Equatable {
        package var name: String
        package var bytes: Int
        /// 64 lower-case hexadecimal digits.
        package var sha256: String
    }

    /// The content of `manifest.json`.
    package struct Manifest: Codable, Sendable, Equatable {
        package var version = 1
        package var establishment: Int64
        package var kind: String
        package var period: String
        package var revision: Int32
        package var files: [File]
    }

    private let root: String
    /// Relative to the root, such as `7/weekly-2026-W47-r1`.
    let name: String
    private let expected: [String: String]
    private(set) var files: [File] = []

    /// - Parameters:
    ///   - root: the folder of `ERRAND_REPORTS_DIR`; its parent must exist.
    ///   - expected: the SHA-256 of the files of a known revision; nil for a new one.
    init(
        root: String, head: ReportHead, revision: Int32, expecting expected: [String: String]?
    ) throws {
        self.root = root
        self.expected = expected ?? [:]
        name = Self.name(of: head, revision: revision)
        try PrivateFolder.make(root)
        try PrivateFolder.make("\(root)/\(head.establishment)")
        try PrivateFolder.make(path)
    }

    static func name(of head: ReportHead, revision: Int32) -> String {
        "\(head.establishment)/\(head.kind)-\(head.period)-r\(revision)"
    }

    private var path: String { "\(root)/\(name)" }

    func draft(_ name: String) throws -> FileDraft { try FileDraft(name, in: path) }

    /// Publishes a draft and adds it to the manifest.
    ///
    /// - Throws: `FileError.unexpectedContent` if a known revision had other bytes, and
    ///   `FileError.otherContent` if such a file is there that is not known.
    mutating func publish(_ draft: FileDraft, as name: String) throws {
        let sum = expected[name].flatMap { Hexadecimal.decode($0) }
        let published = try draft.publish(expecting: sum)
        files.append(
            File(
                name: name, bytes: published.size, sha256: Hexadecimal.encode(published.sha256)))
    }

    mutating func publish(_ bytes: [UInt8], as name: String) throws {
        let draft = try draft(name)
        try draft.append(bytes)
        try publish(draft, as: name)
    }

    /// Writes the manifest, which completes the revision; returns its SHA-256.
    func finish(_ head: ReportHead, revision: Int32) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let manifest = Manifest(
            establishment: head.establishment, kind: head.kind, period: head.period,
            revision: revision, files: files.sorted { $0.name < $1.name })
        let draft = try draft(Self.manifestName)
        try draft.append(Array(try encoder.encode(manifest)) + [10])
        return try draft.publish().sha256
    }

    /// Removes what a killed process has left of a revision that is not known.
    static func discard(root: String, folder: String) throws {
        try PrivateFolder.remove("\(root)/\(folder)", files: names)
    }
}
