package import ErrandDelivery

/// A channel behind the gate of its provider: what would not be taken now is not sent.
package struct GatedChannel: Channel {
    private let channel: any Channel
    private let gate: ProviderGate

    /// Sends by `channel` what `gate` lets go.
    package init(_ channel: any Channel, through gate: ProviderGate) {
        self.channel = channel
        self.gate = gate
    }

    package func send(_ outgoing: Outgoing) async -> DeliveryVerdict {
        await gate.send(until: outgoing.expiresAt) { await channel.send(outgoing) }
    }
}
