import ErrandCrypto
import Glibc

/// A file that is being written: it appears under its name whole, on the disk, or not at all.
///
/// The bytes go to `.NAME.part` in the same folder, which only its owner can read (mode 0600).
/// ``publish()`` brings them to the disk, gives the file its name and brings the folder to the
/// disk. A draft that is released before that leaves nothing; what a killed process of this user
/// leaves is removed by the next one. The folder must belong to this user, and only this user may
/// write into it.
@safe package final class FileDraft {
    /// What was published.
    package struct Published: Sendable, Equatable {
        /// Its name in the folder.
        package var name: String
        /// How many bytes it has.
        package var size: Int
        /// The SHA-256 of its bytes.
        package var sha256: [UInt8]
        /// False: the same bytes were there already, and were left alone.
        package var isNew: Bool
    }

    /// So much is gathered before it is handed to the system.
    private static let pieceSize = 256 * 1_024

    private let folder: OwnFolder
    private let name: String
    private let descriptor: Int32
    private let digest: RunningSHA256
    private var piece: [UInt8] = []
    private var size = 0
    private var isPublished = false

    private var path: String { "\(folder.path)/\(name)" }
    private var partName: String { ".\(name).part" }

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - name: of letters, digits, `-`, `_` and `.`.
    ///   - folder: must exist, belong to this user, and be writable for nobody else.
    package init(_ name: String, in folder: String) throws(FileError) {
        guard Self.isName(name) else { throw .badName(name) }
        let own = try OwnFolder(folder)
        self.folder = own
        self.name = name
        do {
            digest = try RunningSHA256()
        } catch {
            throw .digest(error.description)
        }
        descriptor = try Self.openAlone(".\(name).part", in: own)
        piece.reserveCapacity(Self.pieceSize + 65_536)
    }

    deinit {
        // The lock is still held: nobody else's file.
        if !isPublished { _ = unsafe unlinkat(folder.descriptor, partName, 0) }
        close(descriptor)
    }

    /// Adds bytes.
    package func append(_ bytes: [UInt8]) throws(FileError) {
        piece += bytes
        try flushIfFull()
    }

    /// Adds what a writer appends to the bytes that it is given.
    ///
    /// Those are handed on from time to time, so that memory stays bounded; the writer must only
    /// append.
    package func write<Result, Failure: Error>(
        _ body: (inout [UInt8]) throws(Failure) -> Result
    ) throws -> Result {
        let result = try body(&piece)
        try flushIfFull()
        return result
    }

    /// Brings the file to the disk under its name.
    ///
    /// A file of that name with the same bytes is as good; one with others is left alone.
    /// - Parameter expected: the SHA-256 that the bytes must have; nil for whatever they are.
    /// - Throws: ``FileError/otherContent(file:)`` for that, and
    ///   ``FileError/unexpectedContent(file:)``; the draft is gone then.
    package func publish(expecting expected: [UInt8]? = nil) throws(FileError) -> Published {
        try flush()
        let sum: [UInt8]
        do {
            sum = try digest.finish()
        } catch {
            throw .digest(error.description)
        }
        if let expected, expected != sum { throw .unexpectedContent(file: path) }
        try check("write", fsync(descriptor) == 0)
        // Fails if there is such a file, where renaming would replace it.
        let (at, part) = (folder.descriptor, partName)
        let isNew = unsafe linkat(at, part, at, name, 0) == 0
        if !isNew {
            guard errno == EEXIST else { throw failure("name", errno) }
            guard try Self.digest(of: name, in: folder) == sum else {
                throw .otherContent(file: path)
            }
        }
        try check("remove", unsafe unlinkat(at, part, 0) == 0)
        isPublished = true
        try folder.synchronize()
        return Published(name: name, size: size, sha256: sum, isNew: isNew)
    }

    private func flushIfFull() throws(FileError) {
        if piece.count >= Self.pieceSize { try flush() }
    }

    private func flush() throws(FileError) {
        do {
            try digest.update(piece)
        } catch {
            throw .digest(error.description)
        }
        var done = 0
        while done < piece.count {
            let count = unsafe piece.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
                return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write", count < 0 ? errno : ENOSPC) }
            done += count
        }
        size += piece.count
        piece.removeAll(keepingCapacity: true)
    }

    private func check(_ doing: String, _ isDone: Bool) throws(FileError) {
        guard isDone else { throw failure(doing, errno) }
    }

    private func failure(_ doing: String, _ code: Int32) -> FileError {
        .system(doing: doing, file: path, code: code)
    }

    // MARK: - The system's files

    private static func isName(_ name: String) -> Bool {
        guard (1...200).contains(name.utf8.count), name.first != "." else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default:
                "-_.".utf8.contains(byte)
            }
        }
    }

    /// Creates a file that no other process has locked; removes what a killed process of this user
    /// has left under that name.
    private static func openAlone(
        _ name: String, in folder: OwnFolder
    ) throws(FileError) -> Int32 {
        let path = "\(folder.path)/\(name)"
        while true {
            let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
            let descriptor = unsafe openat(folder.descriptor, name, flags, 0o600)
            guard descriptor >= 0 else {
                guard errno == EEXIST else {
                    throw .system(doing: "create", file: path, code: errno)
                }
                try removeLeftover(name, in: folder)
                continue
            }
            do {
                if try isLocked(descriptor, name, in: folder) { return descriptor }
            } catch {
                close(descriptor)
                throw error
            }
            close(descriptor)
        }
    }

    /// Removes a draft whose process has ended.
    private static func removeLeftover(
        _ name: String, in folder: OwnFolder
    ) throws(FileError) {
        let path = "\(folder.path)/\(name)"
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe openat(folder.descriptor, name, flags)
        guard descriptor >= 0 else {
            // Its process has just removed it.
            guard errno != ENOENT else { return }
            throw .system(doing: "open", file: path, code: errno)
        }
        defer { close(descriptor) }
        guard try isLocked(descriptor, name, in: folder) else { return }
        guard unsafe unlinkat(folder.descriptor, name, 0) == 0 || errno == ENOENT else {
            throw .system(doing: "remove", file: path, code: errno)
        }
    }

    /// Locks a file of this user, and returns whether it is still the one of that name: while it
    /// was opened, its process may have published or removed it.
    private static func isLocked(
        _ descriptor: Int32, _ name: String, in folder: OwnFolder
    ) throws(FileError) -> Bool {
        let path = "\(folder.path)/\(name)"
        var (opened, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &opened) == 0 else {
            throw .system(doing: "look at", file: path, code: errno)
        }
        guard opened.st_uid == geteuid(), opened.st_mode & S_IFMT == S_IFREG else {
            throw .foreignDraft(file: path, owner: opened.st_uid, mode: opened.st_mode & 0o7777)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno != EWOULDBLOCK else { throw .inUse(file: path) }
            throw .system(doing: "lock", file: path, code: errno)
        }
        return unsafe fstatat(folder.descriptor, name, &named, AT_SYMLINK_NOFOLLOW) == 0
            && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// The SHA-256 of a file in a folder.
    static func digest(
        of name: String, in folder: OwnFolder
    ) throws(FileError) -> [UInt8] {
        let path = "\(folder.path)/\(name)"
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe openat(folder.descriptor, name, flags)
        guard descriptor >= 0 else { throw .system(doing: "read", file: path, code: errno) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: pieceSize)
        do {
            let digest = try RunningSHA256()
            while true {
                let count = unsafe read(descriptor, &bytes, bytes.count)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else {
                    throw FileError.system(doing: "read", file: path, code: errno)
                }
                if count == 0 { return try digest.finish() }
                try digest.update(count == bytes.count ? bytes : Array(bytes[..<count]))
            }
        } catch let error as FileError {
            throw error
        } catch {
            throw .digest("\(error)")
        }
    }
}
