/// The test whether an address belongs to the public internet.
///
/// By IANA's registries of special-purpose addresses (RFC 6890 and its updates), only globally
/// reachable addresses are public. A URL of a customer must not lead to the network that Errand
/// runs in, nor to the metadata service of a cloud.
package enum PublicAddress {
    /// The IPv4 networks that are not public: first address and length of the prefix.
    private static let closed4: [(UInt32, Int)] = [
        (0x0000_0000, 8),  // "this network"
        (0x0a00_0000, 8),  // private
        (0x6440_0000, 10),  // shared by carriers' translators; some clouds' metadata
        (0x7f00_0000, 8),  // this machine
        (0xa9fe_0000, 16),  // link-local; most clouds' metadata
        (0xac10_0000, 12),  // private
        (0xc000_0000, 24),  // protocol assignments
        (0xc000_0200, 24),  // documentation
        (0xc058_6300, 24),  // relays of 6to4, deprecated
        (0xc0a8_0000, 16),  // private
        (0xc612_0000, 15),  // benchmarks
        (0xc633_6400, 24),  // documentation
        (0xcb00_7100, 24),  // documentation
        (0xe000_0000, 4),  // multicast
        (0xf000_0000, 4),  // reserved, and broadcast
        (0xa83f_8110, 32),  // 168.63.129.16: public by its number, Azure's metadata in fact
    ]

    /// Returns whether an IPv4 address, in host byte order, is public.
    package static func isPublic(_ address: UInt32) -> Bool {
        !closed4.contains { network, length in
            address >> (32 - length) == network >> (32 - length)
        }
    }

    /// Returns whether an IPv6 address, of 16 bytes, is public.
    ///
    /// An address that contains an IPv4 address, as translators create them, counts as that one.
    package static func isPublic(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == 16 else { return false }
        func begins(_ prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
        func isPublic4(at place: Int) -> Bool {
            isPublic(bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        // Mapped, ::ffff:0:0/96, and translated, 64:ff9b::/96 (RFC 6052).
        if begins([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])
            || begins([0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0])
        {
            return isPublic4(at: 12)
        }
        // 6to4, 2002::/16, contains its IPv4 address after the prefix.
        if begins([0x20, 0x02]) { return isPublic4(at: 2) }
        // Only 2000::/3 is allocated, except for IETF protocols (2001::/23, including Teredo) and
        // documentation (2001:db8::/32, 3fff::/20).
        return bytes[0] & 0xe0 == 0x20
            && !(begins([0x20, 0x01]) && bytes[2] < 2)
            && !begins([0x20, 0x01, 0x0d, 0xb8])
            && !(begins([0x3f, 0xff]) && bytes[2] < 0x10)
    }
}
