import Synchronization

/// The delivery of one message: the bytes left to send, and the state of the conversation.
final class SMTPExchange {
    var conversation = SMTPConversation()
    private let message: [UInt8]
    private var offset = 0
    private let cancellation: Cancellation

    init(message: [UInt8], cancellation: Cancellation) {
        self.message = message
        self.cancellation = cancellation
    }

    /// Passes the next bytes to `take` and returns their number; 0 at the end.
    func read(upTo limit: Int, take: (ArraySlice<UInt8>) -> Void) -> Int {
        let next = message[offset..<min(message.count, offset + limit)]
        take(next)
        offset += next.count
        // From here on, the final dot may be sent at any time.
        if offset == message.count { conversation.handedOver() }
        return next.count
    }

    /// Whether to abort the delivery.
    ///
    /// After the message was sent, aborting would leave unknown whether the server accepted it,
    /// although its answer is about to arrive.
    var shouldStop: Bool { cancellation.isAsked && conversation.stage < .acceptance }
}

/// Passes the cancellation of a task to the thread that sends its message.
final class Cancellation: Sendable {
    private let asked = Atomic(false)

    var isAsked: Bool { asked.load(ordering: .relaxed) }

    func ask() { asked.store(true, ordering: .relaxed) }
}
