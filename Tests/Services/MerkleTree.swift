import ErrandCrypto

/// A Merkle tree as the proofs of ``MerkleProof`` are about, beside that which the database grows.
///
/// Hashes are paired from the left, level by level, and what has no neighbour goes up as it is.
package struct MerkleTree: Sendable {
    /// The leaves, then each level above, up to the root; of nothing, there are none.
    private let levels: [[[UInt8]]]

    /// The tree over entries, in their order.
    package init(of entries: [[UInt8]]) {
        guard !entries.isEmpty else {
            levels = []
            return
        }
        var levels = [entries.map(MerkleProof.leafHash)]
        while let below = levels.last, below.count > 1 {
            levels.append(
                stride(from: 0, to: below.count, by: 2).map { place in
                    place + 1 < below.count
                        ? MerkleProof.nodeHash(below[place], below[place + 1]) : below[place]
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
}
