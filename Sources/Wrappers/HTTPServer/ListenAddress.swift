/// The address of a server: `[ADDRESS:]PORT`.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// The address of this machine that other machines do not reach.
    package static let loopback = "127.0.0.1"
    /// All addresses of the machine, of IPv6 and IPv4.
    static let everywhere = "::"

    /// The name or address, without the brackets of IPv6.
    ///
    /// `0.0.0.0` stands for all IPv4 addresses of the machine, `::` for those of both families.
    package var host: String
    /// The port; 0 for one that the system chooses.
    package var port: UInt16

    /// Creates an address; without a host, it is not reachable from other machines.
    package init(host: String = loopback, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `9464`, `127.0.0.1:9464`, `localhost:9464`, `:9464`, `0.0.0.0:9464` or `[::]:9464`;
    /// nil for others.
    ///
    /// A port without an address is open to this machine alone.
    package init?(_ text: String) {
        let colon = text.lastIndex(of: ":")
        let digits = colon.map { text[text.index(after: $0)...] } ?? text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        self.init(port: port)
        guard let colon, colon > text.startIndex else { return }
        var name = text[..<colon]
        if name.hasPrefix("["), name.hasSuffix("]") {
            name = name.dropFirst().dropLast()
            guard name.contains(":") else { return nil }
        } else if name.contains(":") {
            // It is ambiguous which colon precedes the port.
            return nil
        }
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isHostByte) else { return nil }
        host = String(name)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "%"):
            true
        default: false
        }
    }

    /// The form of settings.
    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The authority of a URL for processes on the same machine.
    package var localAuthority: String {
        let isEverywhere = host == "0.0.0.0" || host == Self.everywhere
        return ListenAddress(host: isEverywhere ? Self.loopback : host, port: port).description
    }
}
