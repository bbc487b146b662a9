import ErrandDurableFiles
import Foundation
import ErrandTestServices
import Testing

@Suite("Durable files")
struct FileDraftTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    private func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    private func mode(of path: String) throws -> Int {
        try #require(
            FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func `a file appears whole, for its owner alone, with its digest`() async throws {
        try await withFolder { folder in
            // More than what is gathered at once, in pieces that do not fit.
            let pieces = (0..<1_000).map { [UInt8](repeating: UInt8($0 % 251), count: 777) }
            let draft = try FileDraft("a.txt", in: folder)
            for piece in pieces {
                try draft.write { $0 += piece }
                #expect(try names(in: folder) == [".a.txt.part"])
            }
            let published = try draft.publish()
            #expect(try names(in: folder) == ["a.txt"])
            let path = "\(folder)/a.txt"
            #expect(try Data(contentsOf: URL(filePath: path)) == Data(pieces.joined()))
            #expect(try mode(of: path) == 0o600)
            #expect(published.size == 777_000 && published.isNew && published.name == "a.txt")
            let sum = try await output(of: ["sha256sum", path])
            let digest = published.sha256.map { String(format: "%02x", $0) }.joined()
            #expect(sum.hasPrefix(digest))
        }
    }

    @Test func `the same bytes are accepted again, others are refused`() async throws {
        try await withFolder { folder in
            for isNew in [true, false, false] {
                let draft = try FileDraft("a", in: folder)
                try draft.append([1, 2, 3])
                #expect(try draft.publish().isNew == isNew)
            }
            for bytes in [[1, 2, 4], [1, 2], [], [1, 2, 3, 4]] as [[UInt8]] {
                let draft = try FileDraft("a", in: folder)
                try draft.append(bytes)
                #expect(throws: FileError.otherContent(file: "\(folder)/a")) {
                    try draft.publish()
                }
            }
            #expect(try Data(contentsOf: URL(filePath: "\(folder)/a")) == Data([1, 2, 3]))
            #expect(try names(in: folder) == ["a"])
        }
    }

    @Test func `a draft that is let go leaves nothing`() async throws {
        try await withFolder { folder in
            do {
                let draft = try FileDraft("a", in: folder)
                try draft.append([UInt8](repeating: 7, count: 1_000_000))
                #expect(try names(in: folder) == [".a.part"])
            }
            #expect(try names(in: folder).isEmpty)
        }
    }

    @Test func `an error of the writer goes through, and the draft can be dropped`() async throws {
        try await withFolder { folder in
            do {
                let draft = try FileDraft("a", in: folder)
                #expect(throws: CancellationError.self) {
                    try draft.write { (_: inout [UInt8]) in throw CancellationError() }
                }
            }
            #expect(try names(in: folder).isEmpty)
        }
    }

    @Test func `what a killed process has left is written over`() async throws {
        try await withFolder { folder in
            try Data("half of a file that was longer".utf8)
                .write(to: URL(filePath: "\(folder)/.a.part"))
            let draft = try FileDraft("a", in: folder)
            try draft.append([65])
            _ = try draft.publish()
            #expect(try Data(contentsOf: URL(filePath: "\(folder)/a")) == Data([65]))
            #expect(try mode(of: "\(folder)/a") == 0o600)
        }
    }

    @Test func `killed between naming and cleaning, the named file stays`() async throws {
        try await withFolder { folder in
            try Data([65]).write(to: URL(filePath: "\(folder)/a"))
            _ = try await output(of: ["ln", "\(folder)/a", "\(folder)/.a.part"])
            let draft = try FileDraft("a", in: folder)
            try draft.append([65])
            #expect(try !draft.publish().isNew)
            #expect(try Data(contentsOf: URL(filePath: "\(folder)/a")) == Data([65]))
            #expect(try names(in: folder) == ["a"])
        }
    }

    @Test func `two writers of one file exclude each other`() async throws {
        try await withFolder { folder in
            let draft = try FileDraft("a", in: folder)
            #expect(throws: FileError.inUse(file: "\(folder)/.a.part")) {
                try FileDraft("a", in: folder)
            }
            try draft.append([65])
            _ = try draft.publish()
            _ = try FileDraft("b", in: folder)
        }
    }

    @Test func `a link in the way is not followed`() async throws {
        try await withFolder { folder in
            let other = "\(folder)/other"
            try Data([1]).write(to: URL(filePath: other))
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/.a.part", withDestinationPath: other)
            #expect(throws: FileError.self) { try FileDraft("a", in: folder) }
            #expect(try Data(contentsOf: URL(filePath: other)) == Data([1]))
        }
    }

    @Test(
        "a name that leads elsewhere is refused",
        arguments: ["", ".", "..", "../a", "a/b", ".a", "a b", "é", "a\0", "a\n"])
    func badName(name: String) throws {
        #expect(throws: FileError.badName(name)) { try FileDraft(name, in: "/nowhere") }
    }

    @Test func `errors name the file and the reason`() throws {
        let error = #expect(throws: FileError.self) { try FileDraft("a", in: "/nowhere") }
        #expect(
            error?.description == "cannot open the folder /nowhere: No such file or directory")
    }

    @Test func `a private folder is made once, for its owner alone`() async throws {
        try await withFolder { folder in
            let path = "\(folder)/issue"
            try PrivateFolder.make(path)
            #expect(try mode(of: path) == 0o700)
            try PrivateFolder.make(path)
            let file = "\(folder)/file"
            try Data().write(to: URL(filePath: file))
            #expect(throws: FileError.self) { try PrivateFolder.make(file) }
            #expect(throws: FileError.self) { try PrivateFolder.make("\(folder)/a/b") }
        }
    }
}
