import ErrandCrypto
package import ErrandDurableFiles
import FoundationEssentials
package import ErrandGregorian

/// The folder with the files of one issue, and `manifest.json`, which is written last and says
/// what they are.
///
/// Making the same issue again gives the same bytes and changes nothing; a file with another
/// content is never replaced (see `FileDraft`). An issue without a manifest is not complete, and
/// its files are not to be sent.
package struct IssueFolder {
    /// What a file is for.
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

    /// Where it is.
    package let path: String
    private var entries: [Manifest.Entry] = []

    /// Uses a folder; it is made, for its owner alone, if there is none.
    ///
    /// The one above must exist.
    package init(_ path: String) throws(FileError) {
        self.path = path
        try PrivateFolder.make(path)
    }

    /// Begins a file; see ``AFTFile`` for its use.
    package func draft(_ name: String) throws(FileError) -> FileDraft {
        try FileDraft(name, in: path)
    }

    /// Publishes a draft and writes it down for the manifest.
    ///
    /// - Parameters:
    ///   - currency: of its amounts, by ISO 4217.
    ///   - number: the file creation number, if it has one.
    ///   - expected: the SHA-256 that it must have, if it was made before.
    /// - Throws: ``FileError/otherContent(file:)`` when it was another content before.
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

    /// Publishes some bytes as a file and writes it down for the manifest.
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

    /// Writes the manifest, which ends the issue.
    ///
    /// - Parameters:
    ///   - run: what was issued, such as `2026-Q4`.
    ///   - issued: the day that the files bear.
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

    /// What `manifest.json` holds; amounts are minor units.
    package struct Manifest: Codable, Sendable, Equatable {
        /// One file.
        package struct Entry: Codable, Sendable, Equatable {
            /// Its name in the folder.
            package var name: String
            /// What it is for.
            package var kind: Kind
            /// How many it has.
            package var bytes: Int
            /// Of its bytes, 64 small hexadecimal digits.
            package var sha256: String
            /// By ISO 4217.
            package var currency: String
            /// How many.
            package var payments: Int
            /// Their sum.
            package var amount: Int64
            /// Records, lines or sheets.
            package var records: Int
            /// Of an AFT file.
            package var fileCreationNumber: Int?
        }

        /// The form of the manifest.
        package var version = 1
        /// By name.
        package var files: [Entry]
        /// The day that the files bear.
        package var issued: String
        /// What was issued.
        package var run: String

        init(files: [Entry], issued: String, run: String) {
            self.files = files
            self.issued = issued
            self.run = run
        }
    }
}
