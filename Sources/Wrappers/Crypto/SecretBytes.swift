/// Secret bytes, which do not appear in texts, log lines or dumps.
package struct SecretBytes: Sendable, Equatable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
{
    let bytes: [UInt8]

    /// Wraps bytes.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Creates random bytes.
    ///
    /// - Throws: ``CryptoError/library(_:)`` if the system provides no randomness.
    package static func random(_ count: Int) throws(CryptoError) -> SecretBytes {
        SecretBytes(try randomBytes(count))
    }

    /// The number of bytes.
    package var count: Int { bytes.count }

    /// Returns the bytes, only to be written to their storage.
    package func reveal() -> [UInt8] { bytes }

    /// A placeholder.
    package var description: String { "(secret)" }
    /// A placeholder.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns whether the bytes are equal, in a time that depends only on their lengths.
    package static func == (one: SecretBytes, other: SecretBytes) -> Bool {
        isSameInConstantTime(one.bytes, other.bytes)
    }
}
