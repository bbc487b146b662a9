import Foundation
import ErrandQRCode
import ErrandTestServices
import Testing

@Suite("Pictures of QR symbols")
struct PictureTests {
    @Test func `zbarimg reads each PNG`() async throws {
        let payloads = Payload.all()
        let files = try payloads.map { try $0.symbol().png(scale: .random(in: 3...8)) }
        #expect(try await texts(in: files, kind: "png") == payloads.map(\.text))
    }

    @Test func `zbarimg reads larger versions`() async throws {
        let payloads = capacities.flatMap { level, counts in
            counts.enumerated().map { (Payload.random(length: $1, level: level), $0 + 1) }
        }
        let files = try payloads.map { try $0.symbol(version: $1).png(scale: 4) }
        #expect(try await texts(in: files, kind: "png") == payloads.map(\.0.text))
    }

    @Test(
        "a PNG has one bit a pixel, and as many pixels as modules, quiet zone and scale ask for",
        arguments: [(1, 1), (2, 1), (2, 8), (2, 40), (40, 2)])
    func size(version: Int, scale: Int) throws {
        let png = try QRSymbol("A", version: version).png(scale: scale)
        #expect(png.prefix(8) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        let pixels = (17 + 4 * version + 8) * scale
        // The header's data: width and height in four bytes each, then the depth.
        let side = [0, 0, UInt8(pixels >> 8), UInt8(pixels & 0xff)]
        #expect(png[16..<25] == ArraySlice(side + side + [1]))
    }

    @Test(
        "a module of no pixels, or of too many, is refused",
        arguments: [0, -1, 41, .min, .max])
    func badScale(scale: Int) throws {
        let symbol = try QRSymbol("A")
        let error = #expect(throws: QRCodeError.badScale(scale)) { try symbol.png(scale: scale) }
        #expect(error?.description == "\(scale) pixels per module: expected 1 to 40")
    }

    @Test func `zbarimg reads what rsvg-convert draws of each SVG`() async throws {
        let payloads = QRSymbol.Level.allCases.flatMap { level in
            [1, 7, 13, 20].map { Payload.random(length: $0, level: level) }
        }
        let documents = try payloads.map { Array(try $0.symbol().svg().utf8) }
        let read = try await withFolder { folder in
            let files = try write(documents, kind: "svg", to: folder)
            let script =
                #"for file; do rsvg-convert --width 200 -o "$file.png" "$file" || exit; done"#
            _ = try await output(of: ["sh", "-c", script, "sh"] + files.map(\.path))
            return try await texts(in: files.map { $0.appendingPathExtension("png") })
        }
        #expect(read == payloads.map(\.text))
    }

    @Test func `an SVG is one path on a white ground, measured in modules`() throws {
        let svg = try QRSymbol("A", version: 1).svg()
        #expect(svg.contains(#"viewBox="0 0 29 29" shape-rendering="crispEdges""#))
        #expect(svg.contains(##"<rect width="29" height="29" fill="#fff"/>"##))
        #expect(svg.split(separator: "<path").count == 2)
        // The upper edge: of the finder pattern, in the quiet zone's corner.
        #expect(svg.contains(#"<path d="M4 4h7v1h-7z"#))
    }

    @Test(
        "zbarimg reads what a terminal shows",
        arguments: [(true, false), (false, false), (false, true)])
    func terminal(isColored: Bool, inverted: Bool) async throws {
        let payloads = Payload.all()
        let pictures = try payloads.map { payload in
            let text = try payload.symbol().terminalText(isColored: isColored, inverted: inverted)
            // Without colours, a terminal shows blocks light on dark unless it is a light one.
            return try Shown(text, foregroundIsDark: inverted).bitmap(scale: 4)
        }
        #expect(try await texts(in: pictures, kind: "pbm") == payloads.map(\.text))
    }

    @Test("inverted is the same with dark and light swapped", arguments: [true, false])
    func inverted(isColored: Bool) throws {
        let symbol = try QRSymbol("HELLO WORLD")
        let shown = try [false, true].map {
            try Shown(
                symbol.terminalText(isColored: isColored, inverted: $0), foregroundIsDark: false)
        }
        #expect(shown[0].isDark == shown[1].isDark.map { $0.map { !$0 } })
        #expect(shown[0].isDark.count == 34 && shown[0].isDark.allSatisfy { $0.count == 33 })
    }

    @Test func `colours end with each line, and plain text has no control characters`() throws {
        let symbol = try QRSymbol("HELLO WORLD")
        let colored = symbol.terminalText(isColored: true)
        #expect(colored.split(separator: "\n").allSatisfy { $0.hasSuffix("\u{1B}[0m") })
        #expect(Set(symbol.terminalText(isColored: false)).isSubset(of: " █▀▄\n"))
    }
}

/// The half blocks of a text as a terminal shows them.
private struct Shown {
    /// By row, then column.
    var isDark: [[Bool]] = []

    init(_ text: String, foregroundIsDark: Bool) throws {
        for var line in text.split(separator: "\n") {
            var foregroundIsDark = foregroundIsDark
            if let colors = line.prefixMatch(of: /\u{1B}\[38;5;(16|231);48;5;(16|231)m/) {
                try #require(colors.1 != colors.2)
                foregroundIsDark = colors.1 == "16"
                line = line.dropFirst(colors.0.count).dropLast("\u{1B}[0m".count)
            }
            for halves in ["█▀", "█▄"] {
                isDark.append(line.map { halves.contains($0) == foregroundIsDark })
            }
        }
    }

    /// A picture in the plain form of the portable bitmap.
    func bitmap(scale: Int) -> [UInt8] {
        let rows = isDark.map { row in
            row.map { String(repeating: $0 ? "1" : "0", count: scale) }.joined() + "\n"
        }
        let size = "\(isDark[0].count * scale) \(isDark.count * scale)"
        let pixels = rows.map { String(repeating: $0, count: scale) }.joined()
        return Array("P1\n\(size)\n\(pixels)".utf8)
    }
}
