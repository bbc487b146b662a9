import Glibc

/// Files that were published, when they are checked and removed.
extension PrivateFolder {
    /// The SHA-256 of a file; nil if the file or its folder is missing.
    ///
    /// Links are not followed, and the folder must be as safe as one that is written into.
    package static func digest(of name: String, in path: String) throws(FileError) -> [UInt8]? {
        do {
            return try FileDraft.digest(of: name, in: OwnFolder(path))
        } catch .system(_, _, ENOENT) {
            return nil
        }
    }

    /// Removes files and then their folder; what is missing already is as good.
    ///
    /// - Throws: if the folder has other files, which stay.
    package static func remove(_ path: String, files names: [String]) throws(FileError) {
        let folder: OwnFolder
        do { folder = try OwnFolder(path) } catch .system(_, _, ENOENT) { return }
        for name in names.flatMap({ [$0, ".\($0).part"] }) {
            guard unsafe unlinkat(folder.descriptor, name, 0) == 0 || errno == ENOENT else {
                throw .system(doing: "remove", file: "\(path)/\(name)", code: errno)
            }
        }
        guard unsafe rmdir(path) == 0 || errno == ENOENT else {
            throw .system(doing: "remove the folder", file: path, code: errno)
        }
    }
}
