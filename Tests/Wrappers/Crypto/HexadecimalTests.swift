import ErrandCrypto
import Testing

@Suite("Hexadecimal") struct HexadecimalTests {
    @Test func `bytes are written and read back, and what is none is refused`() {
        let all = (0...255).map { UInt8($0) }
        #expect(Hexadecimal.encode([0, 10, 255, 0x5A]) == "000aff5a")
        #expect(Hexadecimal.decode(Hexadecimal.encode(all)) == all)
        #expect(Hexadecimal.decode("0AfF") == [10, 255])
        #expect(Hexadecimal.decode("") == [])
        for text in ["0", "0g", "zz", " 0", "0x", "é0"] { #expect(Hexadecimal.decode(text) == nil) }
    }
}
