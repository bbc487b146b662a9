import Glibc

/// Why a file was not written.
package enum FileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The system refused; what was tried, the file, and the system's number for the reason.
    case system(doing: String, file: String, code: Int32)
    /// There is a file of that name with other bytes, and it stays as it is.
    case otherContent(file: String)
    /// The bytes are not those that the caller has expected; nothing was written.
    case unexpectedContent(file: String)
    /// Another process writes the same file now.
    case inUse(file: String)
    /// A name that is none, or leads out of its folder.
    case badName(String)
    /// The digest could not be made; OpenSSL's words.
    case digest(String)

    /// What a person can do about it.
    package var description: String {
        switch self {
        case .system(let doing, let file, let code):
            "cannot \(doing) \(file): \(unsafe String(cString: strerror(code)))"
                + (code == ENOSPC ? "; make room and try again, nothing was kept" : "")
        case .otherContent(let file):
            "\(file) exists with another content and is left as it is: move it away, or write "
                + "into another folder"
        case .unexpectedContent(let file):
            "\(file) would not be what it was when it was first made, and is not written: make it "
                + "with the settings and the version of then"
        case .inUse(let file):
            "another process writes \(file) now: wait for it to end"
        case .badName(let name):
            "'\(name)' is no name for a file: expected letters, digits, '-', '_' and '.', not "
                + "beginning with '.'"
        case .digest(let text):
            text
        }
    }
}
