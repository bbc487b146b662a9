import Glibc

/// Identifies a version of a file without reading it.
struct FileStamp: Equatable, Sendable {
    private let device: UInt
    private let inode: UInt
    private let size: Int
    private let modified: Moment
    /// Cannot be set back, unlike the time of modification, which packages bring with them.
    private let changed: Moment
    let isFolder: Bool

    private struct Moment: Equatable, Sendable {
        let seconds: Int
        let nanoseconds: Int
    }

    /// When its content was last written, in seconds since 1970.
    var modifiedSecond: Int { modified.seconds }

    /// The stamp of what a path leads to; nil when that is nothing.
    init?(path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    fileprivate init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        modified = Moment(
            seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
        changed = Moment(seconds: status.st_ctim.tv_sec, nanoseconds: status.st_ctim.tv_nsec)
        isFolder = status.st_mode & S_IFMT == S_IFDIR
    }
}

/// The bytes of a small file, and the stamp of exactly those.
struct StampedFile {
    /// Why a file was not read.
    enum Failure: Error, Equatable {
        case absent
        case folder
        case other(String)
    }

    let bytes: [UInt8]
    let stamp: FileStamp

    /// Reads a file of at most `limit` bytes, or only that many if it is longer.
    init(path: String, upTo limit: Int) throws(Failure) {
        // A named pipe in the place of a file must not make us wait for a writer.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Self.failure(errno) }
        stamp = FileStamp(status)
        guard !stamp.isFolder else { throw .folder }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .other("it is not a plain file") }
        var bytes = [UInt8](repeating: 0, count: min(Int(status.st_size), limit))
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(
                    descriptor,
                    UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).baseAddress,
                    buffer.count - filled)
            }
            guard count > 0 || count < 0 && errno == EINTR else {
                guard count == 0 else { throw Self.failure(errno) }
                break
            }
            filled += max(count, 0)
        }
        bytes.removeLast(bytes.count - filled)
        self.bytes = bytes
    }

    private static func failure(_ code: Int32) -> Failure {
        code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG
            ? .absent : .other(unsafe String(cString: strerror(code)))
    }
}
