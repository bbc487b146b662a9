import ErrandTerminal
import FoundationEssentials

/// The folders outside of the database whose content a destruction removes.
enum OutputFolders {
    /// Checks the folders of a plan.
    ///
    /// - Throws: `CommandFailure` (usage) for a path that is relative, too short to be meant, a
    ///   symbolic link or no folder.
    static func check(_ paths: [String]) throws(CommandFailure) {
        for path in paths {
            let parts = path.split(separator: "/")
            guard path.hasPrefix("/"), parts.count >= 2, !parts.contains(".."), !parts.contains(".")
            else {
                throw CommandFailure(
                    exit: .usage,
                    message: "--folder \(path): expected an absolute path of two or "
                        + "more parts, such as /var/lib/errand/payouts")
            }
            guard kind(of: path) == .typeDirectory else {
                throw CommandFailure(
                    exit: .usage, message: "--folder \(path): not a folder of this host",
                    hint: "symbolic links are not followed; name the folder itself")
            }
        }
    }

    /// Removes all that is in a folder, and returns the number of entries; the folder stays.
    ///
    /// A symbolic link is removed, never followed.
    ///
    /// - Returns: nil if it is no folder of this host.
    static func empty(_ path: String) throws(CommandFailure) -> Int? {
        guard kind(of: path) == .typeDirectory else { return nil }
        var removed = 0
        do {
            for name in try FileManager.default.contentsOfDirectory(atPath: path).sorted() {
                try FileManager.default.removeItem(atPath: "\(path)/\(name)")
                removed += 1
            }
        } catch {
            throw CommandFailure(
                exit: .failed, message: "\(path) cannot be emptied: \(error)",
                hint: "fix its permissions, then run 'errand destruction start' again")
        }
        return removed
    }

    private static func kind(of path: String) -> FileAttributeType? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return attributes?[.type] as? FileAttributeType
    }
}
