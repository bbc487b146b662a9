import Glibc

/// Reads a file or a pipe line by line, in large pieces.
package struct LineReader: ~Copyable {
    private static let pieceSize = 1 << 20

    private let descriptor: Int32
    private let mustClose: Bool
    private var piece: [UInt8] = []
    private var position = 0
    private var hasEnded = false
    /// Bytes read so far.
    package private(set) var bytesRead = 0
    /// The size of the file; nil for a pipe.
    package let totalBytes: Int?

    /// Opens a file; `-` is standard input.
    ///
    /// - Throws: `CommandFailure` with the file and the system's error.
    package init(path: String) throws(CommandFailure) {
        if path == "-" {
            descriptor = STDIN_FILENO
            mustClose = false
            totalBytes = nil
            return
        }
        let opened = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else {
            throw CommandFailure(
                exit: .notFound, message: "cannot read \(path): \(systemError(errno))")
        }
        var info = stat()
        let isFile = unsafe fstat(opened, &info) == 0 && (info.st_mode & S_IFMT) == S_IFREG
        descriptor = opened
        mustClose = true
        totalBytes = isFile ? Int(info.st_size) : nil
    }

    deinit {
        if mustClose { close(descriptor) }
    }

    /// The next line without its line break; nil at the end.
    package mutating func next() throws(CommandFailure) -> ArraySlice<UInt8>? {
        var searched = position
        while true {
            if let end = piece[searched...].firstIndex(of: 0x0A) {
                defer { position = end + 1 }
                let last = end > position && piece[end - 1] == 0x0D ? end - 1 : end
                return piece[position..<last]
            }
            if hasEnded {
                guard position < piece.count else { return nil }
                defer { position = piece.count }
                return piece[position...]
            }
            let kept = piece.count - position
            piece.removeSubrange(..<position)
            position = 0
            searched = kept
            try fill()
        }
    }

    /// The rest of the input, including line breaks; nil if it exceeds `limit` bytes.
    package mutating func rest(upTo limit: Int) throws(CommandFailure) -> [UInt8]? {
        while !hasEnded {
            guard piece.count - position <= limit else { return nil }
            try fill()
        }
        piece.removeSubrange(..<position)
        guard piece.count <= limit else { return nil }
        defer { (piece, position) = ([], 0) }
        return piece
    }

    private mutating func fill() throws(CommandFailure) {
        let descriptor = descriptor
        var (count, code) = (0, Int32(0))
        let fresh = unsafe [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, filled in
            count = unsafe read(descriptor, buffer.baseAddress, Self.pieceSize)
            code = errno
            filled = max(count, 0)
        }
        guard count >= 0 else {
            throw CommandFailure(
                exit: .failed, message: "cannot read the input: \(systemError(code))")
        }
        piece += fresh
        bytesRead += count
        hasEnded = count == 0
    }
}
