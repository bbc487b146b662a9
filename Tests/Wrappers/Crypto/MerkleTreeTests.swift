import ErrandCrypto
import ErrandTestServices
import Testing

@Suite("Merkle trees")
struct MerkleTreeTests {
    /// Those of the reference implementation of Certificate Transparency.
    static let entries = [
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ].map { hex($0) }

    /// The roots of the first so many entries.
    static let roots = [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
        (3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
        (4, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
        (5, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
        (6, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
        (7, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
        (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
    ]

    @Test("the roots of 0 to 8 entries are the published ones", arguments: roots)
    func root(count: Int, root: String) {
        let tree = MerkleTree(of: Array(Self.entries.prefix(count)))
        #expect(tree.root == hex(root))
        #expect(tree.count == count)
    }

    @Test func `the paths of seven entries are the published ones`() {
        let tree = MerkleTree(of: Array(Self.entries.prefix(7)))
        #expect(
            tree.path(of: 0).map { Array($0.prefix(4)) }
                == ["96a296d2", "5f083f0a", "837dbb15"].map { hex($0) })
        #expect(
            tree.path(of: 6).map { Array($0.prefix(4)) }
                == ["0ebc5d34", "d37ee418"].map { hex($0) })
    }

    /// The definition of RFC 6962, section 2.1, which shares nothing with the tree.
    private func definition(_ entries: ArraySlice<[UInt8]>) -> [UInt8] {
        guard let first = entries.first else { return SHA256.digest(of: []) }
        guard entries.count > 1 else { return SHA256.digest(of: [0] + first) }
        var half = 1
        while half * 2 < entries.count { half *= 2 }
        return SHA256.digest(
            of: [1] + definition(entries.prefix(half)) + definition(entries.dropFirst(half)))
    }

    @Test func `every root is that of the definition, and every path proves its entry alone`() {
        for count in 1...70 {
            let entries = (0..<count).map { [UInt8($0), UInt8(count)] }
            let tree = MerkleTree(of: entries)
            #expect(tree.root == definition(entries[...]))
            for (index, entry) in entries.enumerated() {
                let path = tree.path(of: index)
                func holds(
                    _ entry: [UInt8], _ index: Int, _ size: Int, _ path: [[UInt8]],
                    _ root: [UInt8]
                ) -> Bool {
                    MerkleProof.isIncluded(entry, at: index, of: size, path: path, root: root)
                }
                #expect(holds(entry, index, count, path, tree.root))
                #expect(!holds(entry + [0], index, count, path, tree.root))
                #expect(!holds(entry, index, count, path + [tree.root], tree.root))
                #expect(!holds(entry, index, count, path, SHA256.digest(of: tree.root)))
                if !path.isEmpty {
                    #expect(!holds(entry, index, count, path.dropLast(), tree.root))
                    var bent = path
                    bent[index % path.count][0] ^= 1
                    #expect(!holds(entry, index, count, bent, tree.root))
                }
                #expect(!holds(entry, (index + 1) % count, count, path, tree.root) || count == 1)
            }
        }
    }

    @Test func `no place outside of the tree is proved`() {
        let tree = MerkleTree(of: [[1], [2]])
        for (index, size) in [(2, 2), (-1, 2), (0, 0), (0, 1), (0, -1)] {
            #expect(
                !MerkleProof.isIncluded(
                    [1], at: index, of: size, path: tree.path(of: 0), root: tree.root))
        }
        // A node is no leaf: what it is made of is not an entry.
        let inside = MerkleProof.leafHash([1]) + MerkleProof.leafHash([2])
        #expect(!MerkleProof.isIncluded(inside, at: 0, of: 1, path: [], root: tree.root))
    }
}
