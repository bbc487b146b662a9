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
    /// The folder belongs to another user, or others may write into it; the numbers of its owner
    /// and its permissions.
    case unsafeFolder(folder: String, owner: UInt32, mode: UInt32)
    /// What has the name of the draft is not a file of this user.
    case foreignDraft(file: String, owner: UInt32, mode: UInt32)
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
        case .unsafeFolder(let folder, let owner, let mode):
            "the folder \(folder) belongs to user \(owner), with mode \(Self.octal(mode)), and "
                + "errand runs as user \(geteuid()): others could replace its files; use another "
                + "folder, or, if it is yours: chmod go-w \(folder)"
        case .foreignDraft(let file, let owner, let mode):
            "\(file) belongs to user \(owner), with mode \(Self.octal(mode)), and is left as it "
                + "is: remove it, or write into another folder"
        case .badName(let name):
            "'\(name)' is no name for a file: expected letters, digits, '-', '_' and '.', not "
                + "beginning with '.'"
        case .digest(let text):
            text
        }
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(4 - digits.count, 0)) + digits
    }
}
