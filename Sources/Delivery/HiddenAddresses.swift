extension DeliveryVerdict {
    /// The same verdict, its words fit for logs and tables: servers name the recipient in replies.
    var withoutAddresses: DeliveryVerdict {
        switch self {
        case .delivered(let reply): .delivered(reply: reply.withoutAddresses)
        case .deferred(let reason, let delay):
            .deferred(reason: reason.withoutAddresses, retryAfter: delay)
        case .unavailable(let reason, let delay):
            .unavailable(reason: reason.withoutAddresses, retryAfter: delay)
        case .misconfigured(let reason): .misconfigured(reason: reason.withoutAddresses)
        case .addressGone(let reason, let since):
            .addressGone(reason: reason.withoutAddresses, since: since)
        case .rejected(let reason): .rejected(reason: reason.withoutAddresses)
        }
    }
}

extension String {
    /// The text with `<address>` for every word that holds an `@`, also one escaped as in a URL.
    ///
    /// No address that a ``Mailbox`` takes has a byte at which such a word ends.
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
