import Synchronization

/// One message on its way: the bytes still to hand over, and what was said meanwhile.
final class SMTPExchange {
    var conversation = SMTPConversation()
    private let message: [UInt8]
    private var offset = 0
    private let cancellation: Cancellation

    init(message: [UInt8], cancellation: Cancellation) {
        self.message = message
        self.cancellation = cancellation
    }

    /// Lends the next bytes to `take` and returns how many they were; 0 at the end.
    func read(upTo limit: Int, take: (ArraySlice<UInt8>) -> Void) -> Int {
        let next = message[offset..<min(message.count, offset + limit)]
        take(next)
        offset += next.count
        // The final dot may leave at any moment from here on.
        if offset == message.count { conversation.handedOver() }
        return next.count
    }

    /// Whether to give up.
    ///
    /// Not once the message was handed over: giving up then would leave it open whether the
    /// server has it, where its answer is a moment away.
    var shouldStop: Bool { cancellation.isAsked && conversation.stage < .acceptance }
}

/// Carries the cancellation of a task to the thread that is sending for it.
final class Cancellation: Sendable {
    private let asked = Atomic(false)

    var isAsked: Bool { asked.load(ordering: .relaxed) }

    func ask() { asked.store(true, ordering: .relaxed) }
}
