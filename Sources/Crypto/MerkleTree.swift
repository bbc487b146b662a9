/// A Merkle tree over entries, as RFC 6962 (section 2.1) and RFC 9162 define it: who knows its root
/// and its size can be shown, by a few hashes, that an entry is in it.
///
/// A leaf is SHA-256 over a byte 0 and the entry, a node over a byte 1 and the two below, so that
/// neither can be taken for the other. A tree of n > 1 entries splits at the largest power of two
/// below n. That is the same as to pair hashes from the left, level by level, and to let what has
/// no neighbour go up as it is, which is how it is made here.
package struct MerkleTree: Sendable {
    /// The leaves, then each level above, up to the root; of nothing, there are none.
    private let levels: [[[UInt8]]]

    /// The tree over entries, in their order.
    package init(of entries: [[UInt8]]) {
        guard !entries.isEmpty else {
            levels = []
            return
        }
        var levels = [entries.map(Self.leafHash)]
        while let below = levels.last, below.count > 1 {
            levels.append(
                stride(from: 0, to: below.count, by: 2).map { place in
                    place + 1 < below.count
                        ? Self.nodeHash(below[place], below[place + 1]) : below[place]
                })
        }
        self.levels = levels
    }

    /// How many entries it has.
    package var count: Int { levels.first?.count ?? 0 }

    /// The hash that stands for all of them; for none, that of nothing.
    package var root: [UInt8] { levels.last?[0] ?? SHA256.digest(of: []) }

    /// The hashes beside the way from an entry up to the root, the lowest first.
    ///
    /// - Parameter index: from 0, below ``count``.
    package func path(of index: Int) -> [[UInt8]] {
        precondition((0..<count).contains(index), "no entry \(index) in a tree of \(count)")
        var place = index
        var path: [[UInt8]] = []
        for level in levels {
            if place ^ 1 < level.count { path.append(level[place ^ 1]) }
            place /= 2
        }
        return path
    }

    /// The hash of a leaf.
    package static func leafHash(_ entry: [UInt8]) -> [UInt8] { SHA256.digest(of: [0] + entry) }

    /// The hash of a node above two others.
    package static func nodeHash(_ first: [UInt8], _ second: [UInt8]) -> [UInt8] {
        SHA256.digest(of: [1] + first + second)
    }

    /// Whether a path proves that an entry is in a tree (RFC 9162, section 2.1.3.2).
    ///
    /// - Parameters:
    ///   - entry: itself, not its hash.
    ///   - index: where it is said to be, from 0.
    ///   - size: how many entries the tree has.
    ///   - path: the hashes beside its way up, the lowest first.
    ///   - root: the tree's.
    package static func isIncluded(
        _ entry: [UInt8], at index: Int, of size: Int, path: [[UInt8]], root: [UInt8]
    ) -> Bool {
        guard index >= 0, index < size else { return false }
        var (place, last, hash) = (index, size - 1, leafHash(entry))
        for beside in path {
            guard last > 0 else { return false }
            if place % 2 == 1 || place == last {
                hash = nodeHash(beside, hash)
                while place % 2 == 0, place != 0 {
                    place /= 2
                    last /= 2
                }
            } else {
                hash = nodeHash(hash, beside)
            }
            place /= 2
            last /= 2
        }
        return last == 0 && isSameInConstantTime(hash, root)
    }
}
