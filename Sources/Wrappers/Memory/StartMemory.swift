import CErrandSystem
import Glibc

/// The memory that the start of this process used, most of which is not needed again.
///
/// Code and constants are mapped from files, and pages that were read once stay mapped: option
/// parsing, checks of the schema, initialization of libraries. In a worker, that is two thirds of
/// the resident memory. The system maps released pages again from its cache when they are used.
public struct StartMemory: Sendable {
    private struct Mapping: Hashable {
        /// The addresses and the file, from `/proc/self/maps`.
        var range: Substring
        var file: Substring
    }

    private let mappings: Set<Mapping>

    /// Records the mapped files.
    ///
    /// Call it before loading libraries by name: only the libraries that were loaded with the
    /// program are never unloaded.
    public init() {
        mappings = Set(Self.unchangedMappings(in: "/proc/self/maps"))
    }

    /// Releases the memory once after a delay, unless the task is cancelled before.
    public func release(after delay: Duration) async {
        do { try await Task.sleep(for: delay) } catch { return }
        release()
    }

    /// Releases unchanged pages that are mapped from files, and unused memory of malloc.
    public func release() {
        // Pages with changes, as by a debugger or a probe, would lose these.
        for mapping in Self.unchangedMappings(in: "/proc/self/smaps")
        where mappings.contains(mapping) {
            let ends = mapping.range.split(separator: "-").compactMap {
                UInt(String($0), radix: 16)
            }
            guard ends.count == 2, let start = unsafe UnsafeMutableRawPointer(bitPattern: ends[0])
            else { continue }
            // This fails for locked memory, which must stay resident.
            _ = unsafe madvise(start, Int(ends[1] - ends[0]), MADV_DONTNEED)
        }
        malloc_trim(0)
    }

    /// Reads a file of /proc.
    ///
    /// The system generates it while it is read, so its size is unknown.
    private static func text(of path: String) -> String {
        guard let file = unsafe fopen(path, "re") else { return "" }
        defer { _ = unsafe fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = unsafe fread(&piece, 1, piece.count, file), count > 0 {
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the read-only mappings of files; from `smaps`, those without private copies of
    /// pages.
    private static func unchangedMappings(in path: String) -> [Mapping] {
        var found: [Mapping] = []
        var isCandidate = false
        for line in text(of: path).split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 5)
            guard let first = words.first else { continue }
            if first.last != ":" {
                isCandidate =
                    words.count == 6 && words[5].drop { $0 == " " }.first == "/"
                    && (words[1] == "r-xp" || words[1] == "r--p")
                if isCandidate { found.append(Mapping(range: first, file: words[5])) }
            } else if isCandidate, ["Anonymous:", "Swap:"].contains(first), words[1] != "0" {
                found.removeLast()
                isCandidate = false
            }
        }
        return found
    }
}
