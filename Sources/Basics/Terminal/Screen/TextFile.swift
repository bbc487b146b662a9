import Glibc

/// Writing of small files.
package enum TextFile {
    /// Replaces a file atomically: readers see either the old or the new text.
    ///
    /// Keeps the permissions of an existing file; all users can read a new one.
    /// - Throws: `CommandFailure` with the file and the system's error.
    package static func replace(_ path: String, with text: String) throws(CommandFailure) {
        try replace(path, with: Array(text.utf8))
    }

    /// The same with bytes.
    ///
    /// - Parameter isSecret: whether only its owner can read a new file.
    package static func replace(
        _ path: String, with bytes: [UInt8], isSecret: Bool = false
    ) throws(CommandFailure) {
        let fresh = "\(path).\(getpid())"
        var info = stat()
        let mode = unsafe stat(path, &info) == 0 ? info.st_mode & 0o777 : isSecret ? 0o600 : 0o644
        let descriptor = unsafe open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw unwritable(path, errno) }
        let (count, code) = (unsafe write(descriptor, bytes, bytes.count), errno)
        _ = fchmod(descriptor, mode)
        close(descriptor)
        guard count == bytes.count else {
            _ = unsafe unlink(fresh)
            throw unwritable(path, count < 0 ? code : ENOSPC)
        }
        guard unsafe rename(fresh, path) == 0 else {
            let code = errno
            _ = unsafe unlink(fresh)
            throw unwritable(path, code)
        }
    }

    private static func unwritable(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(
            exit: .failed, message: "cannot write \(path): \(systemError(code))",
            hint: "give a path that you may write to")
    }
}
