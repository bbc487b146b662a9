import ErrandHTTP

extension DeliveryVerdict {
    /// Creates the verdict on a failed delivery from the failed step and the server's reply.
    ///
    /// Follows RFC 5321 (4.2.1), RFC 3463 and RFC 7504/7505 (a domain without mail), with two rules
    /// of our own: 5.7.x concerns the sender, not the address; and a transient failure before the
    /// sender was named concerns every message. A full mailbox does not affect the server, and an
    /// address that refuses mail without a reason is not yet invalid.
    init(_ failure: SMTPFailure) {
        let isAboutOneMessage = failure.stage >= .sender
        switch failure.cause {
        case .insecure:
            self =
                failure.reply?.isTransient == true
                ? .unavailable(reason: "\(failure)", retryAfter: nil)
                : .misconfigured(reason: "\(failure)")
        case .local:
            self = .misconfigured(reason: "\(failure)")
        case .disconnected, .timedOut, .cancelled:
            if failure.isAmbiguous {
                let warning = "; the server may have accepted the message"
                self = .deferred(reason: "\(failure)\(warning)", retryAfter: nil)
            } else if failure.cause == .cancelled
                || failure.cause == .timedOut && isAboutOneMessage
            {
                self = .deferred(reason: "\(failure)", retryAfter: nil)
            } else {
                self = .unavailable(reason: "\(failure)", retryAfter: nil)
            }
        case .refused:
            guard let reply = failure.reply else {
                self = .unavailable(reason: "\(failure)", retryAfter: nil)
                return
            }
            self.init(refusal: reply, at: failure.stage, reason: "\(failure)")
        }
    }

    private init(refusal reply: SMTPReply, at stage: SMTPStage, reason: String) {
        if reply.code == 421 || reply.isTransient && stage < .sender {
            self = .unavailable(reason: reason, retryAfter: nil)
        } else if reply.isTransient {
            let isFull = reply.enhanced.map { $0.subject == 2 && $0.detail == 2 } ?? false
            // RFC 5321, 4.5.4.1: a full mailbox lasts longer than minutes.
            let wait: Duration? = isFull ? .seconds(30 * 60) : nil
            self =
                stage >= .recipient && reply.isAboutBusyAddress
                ? .addressBusy(reason: reason, retryAfter: wait)
                : .deferred(reason: reason, retryAfter: wait)
        } else if reply.enhanced?.subject == 7 || reply.code == 530 || stage < .sender {
            self = .misconfigured(reason: reason)
        } else if stage == .sender && !reply.isAboutSize {
            self = .misconfigured(reason: reason)
        } else if reply.isAboutSender {
            self = .misconfigured(reason: reason)
        } else {
            self =
                reply.isAboutDeadAddress
                ? .addressGone(reason: reason, since: nil)
                : reply.isBounce(at: stage) ? .bounced(reason: reason) : .rejected(reason: reason)
        }
    }
}

extension SMTPReply {
    /// Whether the address is invalid: no such mailbox or domain, a syntax error, moved, disabled,
    /// or a domain without mail.
    fileprivate var isAboutDeadAddress: Bool {
        guard let enhanced else { return code == 556 }
        return switch (enhanced.subject, enhanced.detail) {
        case (1, 1), (1, 2), (1, 3), (1, 6), (1, 10), (2, 1): true
        default: false
        }
    }

    /// Whether a permanent refusal concerns the address, not the message.
    ///
    /// A code about the mailbox, at any step; without such a code, any refusal of the recipient.
    fileprivate func isBounce(at stage: SMTPStage) -> Bool {
        guard let enhanced else { return stage == .recipient && (550...559).contains(code) }
        guard !isAboutSize else { return false }
        return switch enhanced.subject {
        case 1, 2: true
        case 0, 3, 4: stage == .recipient
        default: false
        }
    }

    /// Whether the address or mailbox is temporarily unavailable; a bare 450 means the mailbox.
    fileprivate var isAboutBusyAddress: Bool {
        guard let enhanced else { return code == 450 }
        return enhanced.subject == 1 || enhanced.subject == 2
    }

    /// Whether the sender's mailbox or domain is invalid: our `From`, at any step.
    fileprivate var isAboutSender: Bool {
        guard let enhanced else { return false }
        return enhanced.subject == 1 && (enhanced.detail == 7 || enhanced.detail == 8)
    }

    fileprivate var isAboutSize: Bool {
        guard let enhanced else { return code == 552 }
        return (enhanced.subject, enhanced.detail) == (3, 4)
            || (enhanced.subject, enhanced.detail) == (2, 3)
    }
}
