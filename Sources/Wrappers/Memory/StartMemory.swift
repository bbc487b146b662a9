import CErrandSystem
import Glibc

/// The memory that the start of this process has taken, most of which it does not need again.
///
/// Code and constants are mapped from files, and what reading them once has mapped stays mapped:
/// option parsing, checks of the schema, the set-up of libraries. In a worker that is two thirds of
/// what counts as resident. Given back, it is mapped again, out of the system's cache, when
/// something is used after all.
public struct StartMemory: Sendable {
    private struct Mapping: Hashable {
        /// Addresses and file, as `/proc/self/maps` writes them.
        var range: Substring
        var file: Substring
    }

    private let mappings: Set<Mapping>

    /// Takes note of the files that are mapped, to be called before anything is loaded by name:
    /// what was loaded with the program is never unloaded.
    public init() {
        mappings = Set(Self.unchangedMappings(in: "/proc/self/maps"))
    }

    /// Gives back after a while, once, unless the task is cancelled before.
    public func release(after delay: Duration) async {
        do { try await Task.sleep(for: delay) } catch { return }
        release()
    }

    /// Gives back what is mapped from files and unchanged, and what malloc holds without use.
    public func release() {
        // Pages that were written to, as a debugger or a probe does, would lose what was written.
        for mapping in Self.unchangedMappings(in: "/proc/self/smaps")
        where mappings.contains(mapping) {
            let ends = mapping.range.split(separator: "-").compactMap {
                UInt(String($0), radix: 16)
            }
            guard ends.count == 2, let start = unsafe UnsafeMutableRawPointer(bitPattern: ends[0])
            else { continue }
            // Refused for locked memory, which is to stay where it is.
            _ = unsafe madvise(start, Int(ends[1] - ends[0]), MADV_DONTNEED)
        }
        malloc_trim(0)
    }

    /// What the system writes as it is read, a page or so at a time, so that its size is not known.
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

    /// Files that are mapped to be read only; of `smaps`, those of which no page is a copy.
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
