import Glibc

/// A folder for files that only their owner may see.
package enum PrivateFolder {
    /// Creates a folder of mode 0700 below one that exists; one that is there must be safe.
    ///
    /// - Throws: ``FileError/unsafeFolder(folder:owner:mode:)`` if it belongs to another user, or
    ///   others may write into it, or could put another folder in its place or in that of a folder
    ///   above it; ``FileError/system(doing:file:code:)``, also if something else has that name.
    package static func make(_ path: String) throws(FileError) {
        if unsafe mkdir(path, 0o700) != 0 {
            guard errno == EEXIST else {
                throw .system(doing: "make the folder", file: path, code: errno)
            }
        }
        let folder = try OwnFolder(path)
        let parent = try OpenFolder(path + "/..", flags: 0)
        try expectFixed(folder, in: parent)
        // Its own name, and what a killed process has left of it, must be on the disk too.
        try folder.synchronize()
        try parent.synchronize()
    }

    /// Throws unless only this user and root can rename a folder or one above it.
    private static func expectFixed(
        _ folder: OpenFolder, in parent: OpenFolder
    ) throws(FileError) {
        var (folder, parent) = (folder, parent)
        while folder.identity != parent.identity {
            let isOurs = [0, geteuid()].contains(parent.owner)
            // In a sticky folder, only the owners of it and of the entry rename an entry.
            let isFixed = parent.mode & 0o022 == 0 || parent.mode & 0o1000 != 0
            guard isOurs, isFixed else {
                throw .unsafeFolder(
                    folder: parent.realPath, owner: parent.owner, mode: parent.mode)
            }
            (folder, parent) = (parent, try OpenFolder(parent.path + "/..", flags: 0))
        }
    }
}

/// An open folder.
class OpenFolder {
    let path: String
    let descriptor: Int32
    /// The number of the user who owns it.
    let owner: UInt32
    /// Its permissions, such as 0o755.
    let mode: UInt32
    /// Its file system and number: the root is its own parent.
    let identity: [UInt64]

    init(_ path: String, flags: Int32) throws(FileError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | flags)
        guard descriptor >= 0 else {
            throw .system(doing: "open the folder", file: path, code: errno)
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw .system(doing: "open the folder", file: path, code: code)
        }
        self.path = path
        self.descriptor = descriptor
        owner = status.st_uid
        mode = status.st_mode & 0o7777
        identity = [UInt64(status.st_dev), UInt64(status.st_ino)]
    }

    deinit { close(descriptor) }

    /// The path without links and dots; as given if the system does not report it.
    var realPath: String {
        guard let real = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }

    /// Brings the names in it to the disk.
    func synchronize() throws(FileError) {
        guard fsync(descriptor) == 0 else {
            throw .system(doing: "write the folder", file: path, code: errno)
        }
    }
}

/// An open folder of this user into which nobody else may write.
///
/// Names are looked up in it, not by its path: nobody can put another folder in its place.
final class OwnFolder: OpenFolder {
    init(_ path: String) throws(FileError) {
        try super.init(path, flags: O_NOFOLLOW)
        guard owner == geteuid(), mode & 0o022 == 0 else {
            throw .unsafeFolder(folder: path, owner: owner, mode: mode)
        }
    }
}
