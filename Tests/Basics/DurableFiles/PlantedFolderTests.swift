import ErrandDurableFiles
import Foundation
import Glibc
import ErrandTestServices
import Testing

/// Folders and drafts that another user has placed where errand writes files.
@Suite("Planted folders")
struct PlantedFolderTests {
    private static let nobody: UInt32 = 65_534

    /// A folder into which every user may write, such as `/tmp`.
    private func withSharedFolder(_ body: (String) async throws -> Void) async throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try setMode(0o1777, of: folder.path)
        try await body(folder.path)
    }

    private func setMode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// Runs a shell as the user nobody, for which this process must be root's.
    private func asNobody(_ script: String) async throws {
        _ = try await output(of: [
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-ec", script,
        ])
    }

    private func expectRefused(_ folder: String, owner: UInt32, mode: UInt32) throws {
        let refusal = FileError.unsafeFolder(folder: folder, owner: owner, mode: mode)
        #expect(throws: refusal) { try PrivateFolder.make(folder) }
        #expect(throws: refusal) { try FileDraft("manifest.json", in: folder) }
        #expect(refusal.description.contains("belongs to user \(owner), with mode"))
        #expect(refusal.description.hasSuffix("chmod go-w \(folder)"))
    }

    @Test(.enabled("only root can act as another user") { geteuid() == 0 })
    func `a folder of another user is refused, whatever its mode`() async throws {
        try await withSharedFolder { shared in
            let folder = "\(shared)/2026-Q3-1"
            try await asNobody("mkdir -m 755 \(folder); : >\(folder)/.manifest.json.part")
            try expectRefused(folder, owner: Self.nobody, mode: 0o755)
            try await asNobody("chmod 700 \(folder)")
            try expectRefused(folder, owner: Self.nobody, mode: 0o700)
            #expect(try names(in: folder) == [".manifest.json.part"])
        }
    }

    @Test(.enabled("only root can act as another user") { geteuid() == 0 })
    func `a draft of another user is left alone`() async throws {
        try await withSharedFolder { shared in
            let folder = "\(shared)/issue"
            // The folder was open for a while.
            try PrivateFolder.make(folder)
            try setMode(0o777, of: folder)
            try await asNobody("umask 0; echo theirs >\(folder)/.a.part")
            try setMode(0o700, of: folder)
            let refusal = FileError.foreignDraft(
                file: "\(folder)/.a.part", owner: Self.nobody, mode: 0o666)
            #expect(throws: refusal) { try FileDraft("a", in: folder) }
            #expect(try String(contentsOfFile: "\(folder)/.a.part", encoding: .utf8) == "theirs\n")
        }
    }

    @Test(arguments: [0o777, 0o770, 0o702, 0o1777])
    func `a folder that others may write is refused`(mode: Int) async throws {
        try await withSharedFolder { shared in
            let folder = "\(shared)/issue"
            try PrivateFolder.make(folder)
            try setMode(mode, of: folder)
            try expectRefused(folder, owner: geteuid(), mode: UInt32(mode))
            #expect(try names(in: folder).isEmpty)
            try setMode(0o755, of: folder)
            try PrivateFolder.make(folder)
            _ = try FileDraft("manifest.json", in: folder)
        }
    }

    @Test func `a link to a folder is refused, also to one's own`() async throws {
        try await withSharedFolder { shared in
            try PrivateFolder.make("\(shared)/mine")
            let link = "\(shared)/issue"
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: "\(shared)/mine")
            #expect(throws: FileError.self) { try PrivateFolder.make(link) }
            #expect(throws: FileError.self) { try FileDraft("a", in: link) }
            #expect(try names(in: "\(shared)/mine").isEmpty)
        }
    }

    /// The path below the shared folder, and which folder of it others may write.
    @Test(arguments: [("", 0o777), ("", 0o770), ("outer", 0o777), ("outer/inner", 0o772)])
    func `a folder above in which others may rename is refused`(
        open: String, mode: Int
    ) async throws {
        try await withSharedFolder { shared in
            let inner = "\(shared)/outer/inner"
            try FileManager.default.createDirectory(
                atPath: inner, withIntermediateDirectories: true)
            let opened = open.isEmpty ? shared : "\(shared)/\(open)"
            try setMode(mode, of: opened)
            let refusal = FileError.unsafeFolder(
                folder: opened, owner: geteuid(), mode: UInt32(mode))
            #expect(throws: refusal) { try PrivateFolder.make("\(inner)/issue") }
        }
    }

    @Test(
        .enabled("only root can act as another user") { geteuid() == 0 },
        arguments: ["0755", "0700", "1777"])
    func `a folder below another user's is refused`(mode: String) async throws {
        try await withSharedFolder { shared in
            // Its owner may rename what is in it, whatever its mode.
            try await asNobody("mkdir -m \(mode) \(shared)/theirs")
            try FileManager.default.createDirectory(
                atPath: "\(shared)/theirs/ours", withIntermediateDirectories: false)
            for folder in ["theirs/issue", "theirs/ours/issue"] {
                let refusal = FileError.unsafeFolder(
                    folder: "\(shared)/theirs", owner: Self.nobody,
                    mode: try #require(UInt32(mode, radix: 8)))
                #expect(throws: refusal) { try PrivateFolder.make("\(shared)/\(folder)") }
            }
        }
    }

    @Test func `a draft stays in its folder, whatever gets the folder's name`() async throws {
        try await withSharedFolder { shared in
            let folder = "\(shared)/issue"
            try PrivateFolder.make(folder)
            let draft = try FileDraft("a", in: folder)
            try draft.append([65])
            try FileManager.default.moveItem(atPath: folder, toPath: "\(shared)/away")
            try PrivateFolder.make(folder)
            _ = try draft.publish()
            #expect(try names(in: folder).isEmpty)
            #expect(try names(in: "\(shared)/away") == ["a"])
        }
    }

    @Test(arguments: [0o600, 0o666, 0o400])
    func `what a killed process has left is replaced, not written into`(mode: Int) async throws {
        try await withSharedFolder { shared in
            let folder = "\(shared)/issue"
            try PrivateFolder.make(folder)
            try Data("old".utf8).write(to: URL(filePath: "\(folder)/.a.part"))
            try setMode(mode, of: "\(folder)/.a.part")
            // Whoever has the old one open learns nothing.
            let open = try #require(FileHandle(forReadingAtPath: "\(folder)/.a.part"))
            let draft = try FileDraft("a", in: folder)
            try draft.append([65])
            _ = try draft.publish()
            #expect(try open.readToEnd() == Data("old".utf8))
            #expect(try Data(contentsOf: URL(filePath: "\(folder)/a")) == Data([65]))
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/a")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }
}
