package import ErrandDelivery

/// A channel behind the gate of its provider, which blocks messages that would be refused now.
package struct GatedChannel: Channel {
    private let channel: any Channel
    private let gate: ProviderGate

    /// Creates a channel that sends through `channel` the messages that `gate` admits.
    package init(_ channel: any Channel, through gate: ProviderGate) {
        self.channel = channel
        self.gate = gate
    }

    package func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict {
        await gate.send(until: outgoing.expiresAt) { await channel.send(outgoing) }
    }
}
