import Foundation
import ErrandCrypto
import Testing

@Suite("Sealed messages") struct SealedMessageTests {
    private struct Pair {
        let certificate: Certificate
        let key: OpeningKey
    }

    private func pair(_ kind: String) async throws -> Pair {
        let text = try await openssl(
            "req -x509 -newkey \(kind) -nodes -days 2 -subj /O=Example/CN=buyer -keyout k -out c "
                + "2>/dev/null && cat c k")
        return Pair(certificate: try Certificate(pem: text), key: try OpeningKey(pem: text))
    }

    @Test(arguments: ["rsa:2048", "ec -pkeyopt ec_paramgen_curve:P-256"])
    func `a message opens with the recipient's key alone`(kind: String) async throws {
        let (buyer, other) = (try await pair(kind), try await pair(kind))
        #expect(buyer.certificate.subject == "/O=Example/CN=buyer")
        #expect(buyer.certificate.fingerprint.count == 32)
        for size in [0, 1, 100_000] {
            let plain = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let sealed = try SealedMessage.seal(plain, to: buyer.certificate)
            #expect(try buyer.key.open(sealed) == plain)
            #expect(throws: CryptoError.damaged) { try other.key.open(sealed) }
            #expect(throws: CryptoError.damaged) { try buyer.key.open(sealed + [0]) }
            #expect(throws: CryptoError.damaged) { try buyer.key.open(Array(sealed.dropLast())) }
        }
        #expect(throws: CryptoError.damaged) { try buyer.key.open([]) }
    }

    @Test(arguments: ["rsa:2048", "ec -pkeyopt ec_paramgen_curve:P-256"])
    func `no byte of what is authenticated can be changed`(kind: String) async throws {
        let buyer = try await pair(kind)
        let plain = Array("seventeen bytes!!".utf8)
        let sealed = try SealedMessage.seal(plain, to: buyer.certificate)
        var opened = 0
        for place in sealed.indices {
            var bad = sealed
            bad[place] ^= 1
            // Names and numbers around the key may differ; the content may not.
            if let result = try? buyer.key.open(bad) {
                #expect(result == plain, "byte \(place)")
                opened += 1
            }
        }
        #expect(opened < sealed.count / 2)
    }

    @Test func `openssl opens a message, and its messages open here`() async throws {
        let buyer = try await openssl(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=buyer -keyout k -out c "
                + "2>/dev/null && cat c k")
        let sealed = try SealedMessage.seal(
            Array("rows\n".utf8), to: try Certificate(pem: buyer))
        let text = try await openssl(
            "cms -decrypt -binary -inform DER -in m -inkey k",
            files: ["m": sealed, "k": Array(buyer.utf8)])
        #expect(text == "rows\n")
        let theirs = try await openssl(
            "cms -encrypt -aes-256-gcm -binary -in p -outform DER -out o c && base64 -w0 o",
            files: ["p": Array("theirs".utf8), "c": Array(buyer.utf8)])
        let bytes = [UInt8](try #require(Data(base64Encoded: theirs)))
        #expect(try OpeningKey(pem: buyer).open(bytes) == Array("theirs".utf8))
        // Without authentication, anybody could change it.
        let loose = try await openssl(
            "cms -encrypt -aes-256-cbc -binary -in p -outform DER -out o c && base64 -w0 o",
            files: ["p": Array("theirs".utf8), "c": Array(buyer.utf8)])
        let unauthenticated = [UInt8](try #require(Data(base64Encoded: loose)))
        #expect(throws: CryptoError.damaged) { try OpeningKey(pem: buyer).open(unauthenticated) }
    }

    @Test func `certificates that cannot be used are refused`() async throws {
        #expect(throws: CryptoError.notCertificate) { try Certificate(pem: "x") }
        let weak = try await openssl(
            "req -x509 -newkey rsa:1024 -nodes -days 2 -subj /CN=weak -keyout k 2>/dev/null")
        #expect(throws: CryptoError.self) { try Certificate(pem: weak) }
    }
}
