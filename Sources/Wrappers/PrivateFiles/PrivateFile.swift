import Glibc

/// Why a file that holds a secret was not read.
package enum PrivateFileError: Error, Equatable {
    /// The file does not exist or is not readable; the system's error number.
    case unreadable(code: Int32)
    /// The path is that of a directory, a device or the like.
    case notAFile
    /// All users of the machine may read or write the file.
    case openToAll
    /// The file is longer than expected.
    case tooLong
}

/// Files that hold secrets, which only their owner and group may access.
package enum PrivateFile {
    /// Reads a file of at most `limit` bytes.
    package static func read(_ path: String, limit: Int) throws(PrivateFileError) -> [UInt8] {
        // Opening a pipe without a writer would block.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        guard status.st_mode & S_IRWXO == 0 else { throw .openToAll }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var length = 0
        while length < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[length...])
                return unsafe Glibc.read(descriptor, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(code: errno) }
            if count == 0 { break }
            length += count
        }
        guard length <= limit else { throw .tooLong }
        return Array(bytes[..<length])
    }

    /// Whether there is a file that ``destroy(_:)`` can overwrite; throws if it cannot.
    package static func canDestroy(_ path: String) throws(PrivateFileError) -> Bool {
        guard let file = try openToOverwrite(path) else { return false }
        close(file.descriptor)
        return true
    }

    /// Opens a file to overwrite it; nil if there is none.
    private static func openToOverwrite(
        _ path: String
    ) throws(PrivateFileError) -> (descriptor: Int32, size: Int)? {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw .unreadable(code: errno) }
            return nil
        }
        var status = stat()
        let failure: PrivateFileError? =
            unsafe fstat(descriptor, &status) != 0
            ? .unreadable(code: errno) : status.st_mode & S_IFMT != S_IFREG ? .notAFile : nil
        if let failure {
            close(descriptor)
            throw failure
        }
        return (descriptor, Int(status.st_size))
    }

    /// Overwrites a file with zeros, on the disk, and removes it; false if there is none.
    ///
    /// A file that cannot be removed, such as one that is mounted by itself, stays without content.
    /// File systems that copy on write, and flash memory, can keep the old bytes all the same.
    package static func destroy(_ path: String) throws(PrivateFileError) -> Bool {
        guard let file = try openToOverwrite(path) else { return false }
        let descriptor = file.descriptor
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 65_536)
        var left = file.size
        while left > 0 {
            let count = unsafe Glibc.write(descriptor, zeros, min(left, zeros.count))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .unreadable(code: errno) }
            left -= count
        }
        guard fsync(descriptor) == 0 else { throw .unreadable(code: errno) }
        if unsafe unlink(path) != 0, errno != ENOENT, ftruncate(descriptor, 0) != 0 {
            throw .unreadable(code: errno)
        }
        return true
    }

    /// What is wrong with a file that is open to all, for people.
    package static func openToAll(_ path: String) -> String {
        "\(path) is accessible to all users of this machine"
    }

    /// The command that closes a file to others.
    package static func remedy(_ path: String) -> String { "chmod o= \(path)" }
}
