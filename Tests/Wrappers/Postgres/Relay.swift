import Foundation
import ErrandTestServices

/// A TCP port in front of a server's socket, which can cut a connection in the middle of an answer.
final class Relay: Sendable {
    private let listener: LocalListener
    private let relay = CuttingRelay()
    var port: UInt16 { listener.port }

    init(to path: String) throws {
        listener = try LocalListener()
        let descriptor = listener.descriptor
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0, self != nil else { return }
                Thread.detachNewThread {
                    self?.relay.run(client, CuttingRelay.connection(to: path))
                }
            }
        }
    }

    /// How many more bytes of the server's go through before the connection is cut; nil for all.
    func cut(after count: Int?) { relay.cut(after: count) }
}
