import ErrandCrypto
import Glibc

/// A file that is being written: it appears under its name whole, on the disk, or not at all.
///
/// The bytes go to `.NAME.part` in the same folder, which only its owner can read (mode 0600).
/// ``publish()`` brings them to the disk, gives the file its name and brings the folder to the
/// disk. A draft that is released before that leaves nothing; what a killed process leaves is
/// written over by the next one.
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

    private let folder: String
    private let name: String
    private let descriptor: Int32
    private let digest: RunningSHA256
    private var piece: [UInt8] = []
    private var size = 0
    private var isPublished = false

    private var path: String { "\(folder)/\(name)" }
    private var partPath: String { "\(folder)/.\(name).part" }

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - name: of letters, digits, `-`, `_` and `.`.
    ///   - folder: must exist.
    package init(_ name: String, in folder: String) throws(FileError) {
        guard Self.isName(name) else { throw .badName(name) }
        self.folder = folder
        self.name = name
        do {
            digest = try RunningSHA256()
        } catch {
            throw .digest(error.description)
        }
        descriptor = try Self.openAlone("\(folder)/.\(name).part")
        piece.reserveCapacity(Self.pieceSize + 65_536)
    }

    deinit {
        // The lock is still held: nobody else's file.
        if !isPublished { _ = unsafe unlink(partPath) }
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
        let isNew = unsafe link(partPath, path) == 0
        if !isNew {
            guard errno == EEXIST else { throw failure("name", errno) }
            guard try Self.digest(of: path) == sum else { throw .otherContent(file: path) }
        }
        try check("remove", unsafe unlink(partPath) == 0)
        isPublished = true
        try Self.synchronize(folder: folder)
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

    /// An empty file that no other process has locked.
    private static func openAlone(_ path: String) throws(FileError) -> Int32 {
        while true {
            let descriptor = unsafe open(
                path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else {
                throw .system(doing: "create", file: path, code: errno)
            }
            do {
                if try isOurs(descriptor, path) { return descriptor }
            } catch {
                close(descriptor)
                throw error
            }
            close(descriptor)
        }
    }

    /// Whether the file is now locked, empty, and still the one at that path: while it was waited
    /// for, its owner may have published or removed it.
    private static func isOurs(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno != EWOULDBLOCK else { throw .inUse(file: path) }
            throw .system(doing: "lock", file: path, code: errno)
        }
        var (opened, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &opened) == 0 else {
            throw .system(doing: "look at", file: path, code: errno)
        }
        guard unsafe lstat(path, &named) == 0, opened.st_ino == named.st_ino,
            opened.st_dev == named.st_dev
        else { return false }
        // Published and not yet removed under this name: these bytes are somebody's file.
        guard opened.st_nlink == 1 else {
            guard unsafe unlink(path) == 0 || errno == ENOENT else {
                throw .system(doing: "remove", file: path, code: errno)
            }
            return false
        }
        guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else {
            throw .system(doing: "empty", file: path, code: errno)
        }
        return true
    }

    private static func digest(of path: String) throws(FileError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
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

    /// Brings the names in a folder to the disk.
    private static func synchronize(folder: String) throws(FileError) {
        let descriptor = unsafe open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { throw .system(doing: "open", file: folder, code: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw .system(doing: "write", file: folder, code: errno)
        }
    }
}
