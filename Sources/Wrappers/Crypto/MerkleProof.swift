/// Proofs that an entry is in a Merkle tree, as defined by RFC 6962 (section 2.1) and RFC 9162.
///
/// A verifier needs the tree's root and size, and a few hashes.
///
/// A leaf is the SHA-256 of a byte 0 and the entry; a node is that of a byte 1 and its two
/// children, so that neither can be mistaken for the other. A tree of n > 1 entries splits at the
/// largest power of two below n.
package enum MerkleProof {
    /// Returns the hash of a leaf.
    package static func leafHash(_ entry: [UInt8]) -> [UInt8] { SHA256.digest(of: [0] + entry) }

    /// Returns the hash of a node with two children.
    package static func nodeHash(_ first: [UInt8], _ second: [UInt8]) -> [UInt8] {
        SHA256.digest(of: [1] + first + second)
    }

    /// Returns whether a path proves that an entry is in a tree (RFC 9162, section 2.1.3.2).
    ///
    /// - Parameters:
    ///   - entry: the entry itself, not its hash.
    ///   - index: the claimed index of the entry, from 0.
    ///   - size: the number of entries of the tree.
    ///   - path: the hashes of the siblings from the leaf to the root.
    ///   - root: the root of the tree.
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
