import Foundation
import ErrandTestServices

/// A socket in front of a server's, which cuts a connection in the middle of an answer.
final class CuttingSocket: Sendable {
    private let listener: Int32
    private let relay = CuttingRelay()
    let path: String

    struct Refused: Error {
        var code: Int32
    }

    init(to server: String) throws {
        let own = FileManager.default.temporaryDirectory
            .appending(path: "errand-cut-\(UUID().uuidString.prefix(8)).sock").path
        path = own
        guard let made = CuttingRelay.listener(at: own) else { throw Refused(code: errno) }
        listener = made
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(made, nil, nil)
                guard client >= 0, self != nil else { return }
                Thread.detachNewThread {
                    self?.relay.run(client, CuttingRelay.connection(to: server))
                }
            }
        }
    }

    deinit {
        _ = shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        _ = unsafe unlink(path)
    }

    /// How many more bytes of the server's go through before the connection is cut; nil for all.
    func cut(after count: Int?) { relay.cut(after: count) }
}
