import ErrandCrypto
import Foundation
import Testing

@Suite("Files of keys")
struct KeyFileTests {
    private static let one = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="
    private static let two = "/////////////////////////////////////////+8="

    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "errand-keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    @Test func `the first key seals, all open, and the rest means nothing`() throws {
        let text = "# ours\r\n\r\n  new\t\(Self.two)  \r\n#old \(Self.one)\nold \(Self.one)"
        let keys = try KeyFile.keys(of: text)
        #expect(keys.names == ["new", "old"])
        let old = try KeyFile.keys(of: "old \(Self.one)\n")
        let sealed = try old.seal(SecretBytes([1, 2]), context: "c")
        #expect(try keys.open(sealed, context: "c") == SecretBytes([1, 2]))
        let anew = try keys.seal(SecretBytes([1, 2]), context: "c")
        #expect(try SealingKeys.keyName(of: anew) == "new")
        #expect(throws: CryptoError.unknownKey(id: "new")) { try old.open(anew, context: "c") }
    }

    @Test func `a new line is one that is read, and random`() throws {
        let lines = try (0..<200).map { try KeyFile.newLine(name: "k\($0)") }
        #expect(try KeyFile.keys(of: lines.joined(separator: "\n")).names.count == 200)
        #expect(throws: CryptoError.self) { try KeyFile.newLine(name: "my key") }
        #expect(throws: CryptoError.self) { try KeyFile.newLine(name: "") }
    }

    /// A text, the line that is named, and a part of the reason.
    static let bad: [(text: String, line: Int, reason: String)] = [
        ("lonely", 1, "expected NAME and"),
        (one, 1, "expected NAME and"),
        ("# c\n\nk \(one) x", 3, "expected NAME and"),
        ("\(one) k", 1, "32 bytes in base64"),
        ("k \(one.dropLast())", 1, "32 bytes in base64"),
        ("k \(one.dropLast(5))", 1, "32 bytes in base64"),
        ("k \(one)=", 1, "32 bytes in base64"),
        ("k \(one.dropLast(2))B=", 1, "32 bytes in base64"),
        ("k \(two.replacingOccurrences(of: "/", with: "_"))", 1, "32 bytes in base64"),
        ("k \(one.replacingOccurrences(of: "q", with: "ä"))", 1, "32 bytes in base64"),
        ("\(two) \(one)", 1, "its name must be"),
        ("a \(one)\nb \(two)\na \(two)", 3, "the same name as on line 1"),
        ("a \(one)\n\nb \(one)", 3, "the same key as on line 1"),
    ]

    @Test(arguments: bad.indices)
    func `a bad line is named and not shown`(row: Int) throws {
        let (text, line, reason) = Self.bad[row]
        let error = try #require(throws: KeyFileError.self) { try KeyFile.keys(of: text) }
        guard case .badLine(let found, let words) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(found == line && words.contains(reason), "\(error)")
        for word in text.split(whereSeparator: \.isWhitespace) where word.count > 10 {
            #expect(!"\(error)".contains(word))
        }
    }

    @Test(arguments: ["", "\n\n", "# nothing\n"])
    func `a file without keys is refused`(text: String) {
        #expect(throws: KeyFileError.empty) { try KeyFile.keys(of: text) }
    }

    @Test func `who may read the file is looked at`() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "keys").path
        #expect(throws: KeyFileError.unreadable(file: file)) { try KeyFile.read(file) }
        try Data("k \(Self.one)\n".utf8).write(to: URL(filePath: file))
        for mode in [0o600, 0o640, 0o400] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            #expect(try KeyFile.read(file).names == ["k"])
        }
        for mode in [0o644, 0o602, 0o601] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            #expect(throws: KeyFileError.openToAll(file: file)) { try KeyFile.read(file) }
        }
        #expect(throws: KeyFileError.notAFile(file: folder.path)) { try KeyFile.read(folder.path) }
        let large = folder.appending(path: "large").path
        for (content, expected) in [
            (Data(repeating: 0x0A, count: 65_537), KeyFileError.tooLong(file: large)),
            (Data(repeating: 0x0A, count: 65_536), .empty),
            (
                Data([0xFF, 0xFE]),
                .badLine(1, reason: "the file is not a text file; expected one key per line")
            ),
        ] {
            try content.write(to: URL(filePath: large))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: large)
            #expect(throws: expected) { try KeyFile.read(large) }
        }
    }
}
