import Glibc

/// A folder for files that only their owner may see.
package enum PrivateFolder {
    /// Makes a folder of mode 0700 below one that exists; one that is there is left as it is.
    ///
    /// - Throws: ``FileError/system(doing:file:code:)``, also when something else has that name.
    package static func make(_ path: String) throws(FileError) {
        if unsafe mkdir(path, 0o700) != 0 {
            guard errno == EEXIST else {
                throw .system(doing: "make the folder", file: path, code: errno)
            }
        }
        // Its own name, and what a killed process has left of it, must be on the disk too.
        for folder in [path, path + "/.."] {
            let descriptor = unsafe open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
            guard descriptor >= 0 else {
                throw .system(doing: "open the folder", file: folder, code: errno)
            }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else {
                throw .system(doing: "write the folder", file: folder, code: errno)
            }
        }
    }
}
