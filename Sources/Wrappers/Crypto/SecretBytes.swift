/// Bytes that are nobody's business: they never show in a text, a log line or a dump.
package struct SecretBytes: Sendable, Equatable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
{
    let bytes: [UInt8]

    /// Takes charge of some bytes.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// New random ones.
    ///
    /// - Throws: ``CryptoError/library(_:)`` when the system has no randomness to give.
    package static func random(_ count: Int) throws(CryptoError) -> SecretBytes {
        SecretBytes(try randomBytes(count))
    }

    /// How many they are.
    package var count: Int { bytes.count }

    /// Lets them out, to be written where they are kept and nowhere else.
    package func reveal() -> [UInt8] { bytes }

    /// That there are some, and nothing more.
    package var description: String { "(secret)" }
    /// That there are some, and nothing more.
    package var debugDescription: String { description }
    /// Without parts.
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Whether both hold the same, found out in a time that depends on the lengths only.
    package static func == (one: SecretBytes, other: SecretBytes) -> Bool {
        isSameInConstantTime(one.bytes, other.bytes)
    }
}
