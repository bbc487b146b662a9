import Glibc
import ErrandHTTP
import Testing

@Suite("Public addresses")
struct PublicAddressTests {
    /// One address of each closed network, at both ends where that tells something, and its
    /// open neighbours.
    @Test(
        "IPv4 addresses are public or not",
        arguments: [
            ("0.0.0.0", false), ("0.255.255.255", false), ("1.0.0.0", true), ("1.1.1.1", true),
            ("9.255.255.255", true), ("10.0.0.0", false), ("10.255.255.255", false),
            ("11.0.0.0", true), ("100.63.255.255", true), ("100.64.0.0", false),
            ("100.100.100.200", false), ("100.127.255.255", false), ("100.128.0.0", true),
            ("126.255.255.255", true), ("127.0.0.1", false), ("127.255.255.255", false),
            ("128.0.0.0", true), ("169.253.255.255", true), ("169.254.169.254", false),
            ("169.255.0.0", true), ("172.15.255.255", true), ("172.16.0.0", false),
            ("172.31.255.255", false), ("172.32.0.0", true), ("192.0.0.192", false),
            ("192.0.1.0", true), ("192.0.2.1", false), ("192.88.99.1", false),
            ("192.167.255.255", true), ("192.168.0.0", false), ("192.168.255.255", false),
            ("192.169.0.0", true), ("198.17.255.255", true), ("198.18.0.0", false),
            ("198.19.255.255", false), ("198.20.0.0", true), ("198.51.100.7", false),
            ("203.0.113.7", false), ("223.255.255.255", true), ("224.0.0.1", false),
            ("239.255.255.255", false), ("240.0.0.1", false), ("255.255.255.255", false),
            ("168.63.129.16", false), ("168.63.129.17", true), ("17.188.143.34", true),
        ])
    func four(text: String, isPublic: Bool) throws {
        var address = in_addr()
        try #require(unsafe inet_pton(AF_INET, text, &address) == 1)
        #expect(PublicAddress.isPublic(UInt32(bigEndian: address.s_addr)) == isPublic)
        // The same address, as IPv6 writes it: mapped, translated, and 6to4.
        let bytes = unsafe withUnsafeBytes(of: address.s_addr) { unsafe Array($0) }
        let zeros = Array(repeating: UInt8(0), count: 10)
        #expect(PublicAddress.isPublic(zeros + [0xff, 0xff] + bytes) == isPublic)
        #expect(
            PublicAddress.isPublic([0, 0x64, 0xff, 0x9b] + zeros.prefix(8) + bytes) == isPublic)
        #expect(PublicAddress.isPublic([0x20, 0x02] + bytes + zeros) == isPublic)
    }

    @Test(
        "IPv6 addresses are public or not",
        arguments: [
            ("::", false), ("::1", false), ("::8.8.8.8", false), ("::ffff:0:8.8.8.8", false),
            ("64:ff9b:1::1", false), ("100::1", false), ("2001::1", false),
            ("2001:1ff::1", false), ("2001:200::1", true), ("2001:db8::1", false),
            ("2001:db9::1", true), ("2620:149:208::1", true), ("2a00:1450:4001::1", true),
            ("3ffe::1", true), ("3fff::1", false), ("3fff:1000::1", true), ("4000::1", false),
            ("fc00::1", false), ("fd00:ec2::254", false), ("fe80::1", false), ("fec0::1", false),
            ("ff02::1", false), ("5f00::1", false),
        ])
    func six(text: String, isPublic: Bool) throws {
        var address = in6_addr()
        try #require(unsafe inet_pton(AF_INET6, text, &address) == 1)
        let bytes = unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
        #expect(PublicAddress.isPublic(bytes) == isPublic)
    }

    @Test func `what is no address is not public`() {
        #expect(!PublicAddress.isPublic([]))
        #expect(!PublicAddress.isPublic(Array(repeating: 0x20, count: 15)))
    }
}
