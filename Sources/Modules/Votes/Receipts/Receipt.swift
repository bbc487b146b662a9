import ErrandCrypto

/// A voter's receipt for a ballot: it contains the choice, and proves that the ballot was counted.
///
/// A receipt reveals the choice: do not use receipts where voters may be coerced.
package struct Receipt: Sendable, Equatable {
    /// The vote's id.
    package var vote: Int64
    /// The numbers of the options, lowest first.
    package var choice: [Int]
    /// 32 random bytes, required to find the ballot.
    package var nonce: [UInt8]

    package static let nonceSize = 32

    package init(vote: Int64, choice: [Int], nonce: [UInt8]) {
        self.vote = vote
        self.choice = choice
        self.nonce = nonce
    }

    /// Parses `v1.VOTE.CHOICE.NONCE`, such as `v1.12.1-3.` and 43 letters; nil if it is invalid.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "v1", let vote = Int64(parts[1]), vote > 0,
            let nonce = Base64URL.decode(parts[3]), nonce.count == Self.nonceSize
        else { return nil }
        let choice = parts[2].split(separator: "-", omittingEmptySubsequences: false)
            .map { Int($0) }
        self.init(vote: vote, choice: choice.compactMap(\.self), nonce: nonce)
        // Each receipt has exactly one text.
        guard description == text, !self.choice.isEmpty, self.choice.allSatisfy({ $0 > 0 }) else {
            return nil
        }
    }

    private var choiceText: String { choice.map(String.init).joined(separator: "-") }

    /// The commitment to the ballot in the tree: SHA-256 over four fields, each preceded by its
    /// length in four bytes: a constant, the vote, the choice and the nonce.
    package var commitment: [UInt8] {
        let fields = [
            Array("errand-ballot-v1".utf8), Array(String(vote).utf8), Array(choiceText.utf8), nonce,
        ]
        return SHA256.digest(
            of: fields.flatMap { field in
                (0..<4).reversed().map { UInt8(truncatingIfNeeded: field.count >> (8 * $0)) }
                    + field
            })
    }

    /// Returns whether a path proves that the ballot is at a position in a tree of the given size.
    package func isIncluded(at index: Int, of size: Int, path: [[UInt8]], root: [UInt8]) -> Bool {
        MerkleProof.isIncluded(commitment, at: index, of: size, path: path, root: root)
    }
}

extension Receipt: CustomStringConvertible {
    /// The text that the voter keeps.
    package var description: String {
        "v1.\(vote).\(choiceText).\(Base64URL.encode(nonce))"
    }
}
