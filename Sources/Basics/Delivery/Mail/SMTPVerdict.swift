import ErrandHTTP

extension DeliveryVerdict {
    /// Judges a failed delivery by the step that failed and the server's words.
    ///
    /// The table of RFC 5321 (4.2.1), RFC 3463 and RFC 7504/7505 (a domain without mail), with
    /// two judgements of ours: 5.7.x is about us, not about the address; and what fails for the
    /// moment before a sender was named concerns every message. A full mailbox says nothing about
    /// the server, and an address whose mails are refused without a reason is not dead at once.
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
                let warning = "; the server may have taken the message"
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
            // RFC 5321, 4.5.4.1: a mailbox is not emptied in minutes.
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
    /// No such mailbox or domain, no address at all, moved away, disabled, or a domain that takes
    /// no mail.
    fileprivate var isAboutDeadAddress: Bool {
        guard let enhanced else { return code == 556 }
        return switch (enhanced.subject, enhanced.detail) {
        case (1, 1), (1, 2), (1, 3), (1, 6), (1, 10), (2, 1): true
        default: false
        }
    }

    /// Whether a permanent refusal is about the address rather than the message.
    ///
    /// Its mailbox, at any step; without such a code, whatever refuses the recipient.
    fileprivate func isBounce(at stage: SMTPStage) -> Bool {
        guard let enhanced else { return stage == .recipient && (550...559).contains(code) }
        guard !isAboutSize else { return false }
        return switch enhanced.subject {
        case 1, 2: true
        case 0, 3, 4: stage == .recipient
        default: false
        }
    }

    /// An address or mailbox that takes nothing for the moment; a bare 450 means the mailbox.
    fileprivate var isAboutBusyAddress: Bool {
        guard let enhanced else { return code == 450 }
        return enhanced.subject == 1 || enhanced.subject == 2
    }

    /// Bad sender's mailbox or domain: our `From`, whichever step says so.
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
