extension DeliveryVerdict {
    /// The verdict without addresses in its text, as servers quote the recipient in replies.
    var withoutAddresses: DeliveryVerdict { worded { $0.withoutAddresses } }

    /// Returns the verdict with `***` for every occurrence of a secret from the message.
    package func hiding(_ secret: String) -> DeliveryVerdict {
        worded { $0.replacing(Regex<Substring>(verbatim: secret).ignoresCase(), with: "***") }
    }

    private func worded(_ change: (String) -> String) -> DeliveryVerdict {
        switch self {
        case .delivered(let reply): .delivered(reply: change(reply))
        case .deferred(let reason, let delay):
            .deferred(reason: change(reason), retryAfter: delay)
        case .addressBusy(let reason, let delay):
            .addressBusy(reason: change(reason), retryAfter: delay)
        case .unavailable(let reason, let delay):
            .unavailable(reason: change(reason), retryAfter: delay)
        case .misconfigured(let reason): .misconfigured(reason: change(reason))
        case .addressGone(let reason, let since):
            .addressGone(reason: change(reason), since: since)
        case .bounced(let reason): .bounced(reason: change(reason))
        case .rejected(let reason): .rejected(reason: change(reason))
        }
    }
}

extension String {
    /// The text with `<address>` for every word with an `@`, also if escaped as in a URL.
    ///
    /// No valid ``Mailbox`` address contains a byte that ends such a word.
    fileprivate var withoutAddresses: String {
        var result = ""
        var rest = self[...]
        while let first = rest.first {
            guard !first.endsAddress else {
                result.append(first)
                rest.removeFirst()
                continue
            }
            let word = rest.prefix { !$0.endsAddress }
            rest = rest[word.endIndex...]
            guard word.contains("@") || word.contains("%40") else {
                result += word
                continue
            }
            if result.last == "<" { result.removeLast() }
            if rest.first == ">" { rest.removeFirst() }
            result += "<address>"
        }
        return result
    }
}

extension Character {
    fileprivate var endsAddress: Bool { isWhitespace || "<>()[],;:\"".contains(self) }
}
