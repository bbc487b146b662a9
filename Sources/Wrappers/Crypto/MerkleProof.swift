/// Proofs that an entry is in a Merkle tree, as RFC 6962 (section 2.1) and RFC 9162 define it: who
/// knows the tree's root and size can be shown so by a few hashes.
///
/// A leaf is SHA-256 over a byte 0 and the entry, a node over a byte 1 and the two below, so that
/// neither can be taken for the other. A tree of n > 1 entries splits at the largest power of two
/// below n.
package enum MerkleProof {
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
