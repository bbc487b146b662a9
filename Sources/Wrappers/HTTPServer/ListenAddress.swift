/// The address of a server: `[ADDRESS:]PORT`.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// The name or address, without the brackets of IPv6; nil for all addresses of the machine.
    package var host: String?
    /// The port; 0 for one that the system chooses.
    package var port: UInt16

    /// Creates an address; a nil host means all addresses of the machine.
    package init(host: String? = nil, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `9464`, `127.0.0.1:9464`, `localhost:9464`, `:9464` or `[::1]:9464`; nil for others.
    package init?(_ text: String) {
        let colon = text.lastIndex(of: ":")
        let digits = colon.map { text[text.index(after: $0)...] } ?? text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        self.port = port
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
        guard let host else { return String(port) }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The authority of a URL for processes on the same machine.
    package var localAuthority: String {
        let isEverywhere = host == nil || host == "0.0.0.0" || host == "::"
        return ListenAddress(host: isEverywhere ? "127.0.0.1" : host, port: port).description
    }
}
