import ErrandCrypto
package import ErrandDurableFiles
import FoundationEssentials
package import ErrandGregorian

/// The folder of an issue: its files and `manifest.json`, which lists them and is written last.
///
/// Recreating an issue gives the same bytes and changes nothing; files with other content are
/// never replaced (see `FileDraft`). An issue without a manifest is incomplete; do not send its
/// files.
package struct IssueFolder {
    /// The purpose of a file.
    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// ``AFTFile``.
        case aft
        /// ``NACHAFile``.
        case nacha
        /// ``ChequeRegister``.
        case chequeRegister = "cheque-register"
        /// ``ChequeSheets/Printed/sheets``.
        case chequeSheets = "cheque-sheets"
        /// ``ChequeSheets/Printed/continuation``.
        case chequeContinuation = "cheque-continuation"
    }

    /// The name of the manifest.
    package static let manifestName = "manifest.json"

    /// The path of the folder.
    package let path: String
    private var entries: [Manifest.Entry] = []

    /// Opens a folder; creates it, accessible to its owner only, if missing.
    ///
    /// The parent folder must exist.
    package init(_ path: String) throws(FileError) {
        self.path = path
        try PrivateFolder.make(path)
    }

    /// Starts a file; ``AFTFile`` has an example.
    package func draft(_ name: String) throws(FileError) -> FileDraft {
        try FileDraft(name, in: path)
    }

    /// Publishes a draft and adds it to the manifest.
    ///
    /// - Parameters:
    ///   - currency: the currency of its amounts, by ISO 4217.
    ///   - number: the file creation number, if it has one.
    ///   - expected: the SHA-256 of a recreated file.
    /// - Throws: ``FileError/otherContent(file:)`` if the file exists with other content.
    @discardableResult
    package mutating func publish(
        _ draft: FileDraft, kind: Kind, currency: String, totals: FileTotals, number: Int? = nil,
        expecting expected: [UInt8]? = nil
    ) throws(FileError) -> FileDraft.Published {
        let published = try draft.publish(expecting: expected)
        entries.append(
            Manifest.Entry(
                name: published.name, kind: kind, bytes: published.size,
                sha256: Hexadecimal.encode(published.sha256), currency: currency,
                payments: totals.payments, amount: totals.amount, records: totals.records,
                fileCreationNumber: number))
        return published
    }

    /// Publishes bytes as a file and adds it to the manifest.
    @discardableResult
    package mutating func publish(
        _ bytes: [UInt8], as name: String, kind: Kind, currency: String, totals: FileTotals,
        expecting expected: [UInt8]? = nil
    ) throws(FileError) -> FileDraft.Published {
        let draft = try draft(name)
        try draft.append(bytes)
        return try publish(
            draft, kind: kind, currency: currency, totals: totals, expecting: expected)
    }

    /// Writes the manifest, which completes the issue.
    ///
    /// - Parameters:
    ///   - run: the label of the issue, such as `2026-Q4-1`.
    ///   - issued: the date in the files.
    @discardableResult
    package func finish(run: String, issued: CivilDate) throws -> FileDraft.Published {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let manifest = Manifest(
            files: entries.sorted { $0.name < $1.name }, issued: issued.dashed, run: run)
        let draft = try draft(Self.manifestName)
        try draft.append(Array(try encoder.encode(manifest)) + [10])
        return try draft.publish()
    }

    /// The content of `manifest.json`; amounts are in minor units.
    package struct Manifest: Codable, Sendable, Equatable {
        /// A file of the issue.
        package struct Entry: Codable, Sendable, Equatable {
            /// The name in the folder.
            package var name: String
            /// The purpose of the file.
            package var kind: Kind
            /// The size in bytes.
            package var bytes: Int
            /// The SHA-256, 64 lowercase hexadecimal digits.
            package var sha256: String
            /// The currency, by ISO 4217.
            package var currency: String
            /// The number of payments.
            package var payments: Int
            /// The sum of the payments.
            package var amount: Int64
            /// The number of records, lines or sheets.
            package var records: Int
            /// The file creation number of an AFT file.
            package var fileCreationNumber: Int?
        }

        /// The version of the format.
        package var version = 1
        /// The files, sorted by name.
        package var files: [Entry]
        /// The date in the files.
        package var issued: String
        /// The label of the issue.
        package var run: String

        init(files: [Entry], issued: String, run: String) {
            self.files = files
            self.issued = issued
            self.run = run
        }
    }
}
