import ErrandDelivery
import ErrandJSONText

/// The secret facts of notices, such as codes and links.
enum NoticeSecrets {
    /// Why a message whose secret facts are gone is not sent.
    static let gone =
        "its secret facts are gone: it ended before, or the database server crashed"

    /// Returns a verdict that shows none of the secret facts.
    ///
    /// - Parameter facts: a JSON object; nil for none.
    static func hidden(_ facts: [UInt8]?, in verdict: DeliveryVerdict) -> DeliveryVerdict {
        guard let facts, let members = try? JSONScanner.members(of: facts[...]) else {
            return verdict
        }
        return members.compactMap { JSONScanner.text($0.value) }.filter { !$0.isEmpty }
            .reduce(verdict) { $0.hiding($1) }
    }
}
