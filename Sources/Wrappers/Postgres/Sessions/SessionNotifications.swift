import ErrandThreads

/// A notification of NOTIFY.
public struct PostgresNotification: Sendable, Equatable {
    /// The channel.
    public var channel: String
    /// The payload.
    public var payload: String
}

/// The channels of a session and the callbacks for their notifications.
struct Listening {
    var channels: [String]
    var onNotification: @Sendable (PostgresNotification) -> Void
    var onReset: @Sendable () -> Void
    /// Whether the listening connection was lost and no new one listens yet.
    var isInterrupted = false
}

extension Session {
    /// Listens on channels, also while the session is idle.
    ///
    /// - Parameters:
    ///   - onNotification: called on the session's thread; it must not wait.
    ///   - onReset: called after the connection was lost, and again after a new one listens:
    ///     notifications in between are lost. The next statement connects and listens again. Locks
    ///     and temporary tables of the old connection are lost.
    public func listen(
        _ channels: [String],
        _ onNotification: @escaping @Sendable (PostgresNotification) -> Void,
        onReset: @escaping @Sendable () -> Void
    ) throws(PostgresError) {
        let isHeard = link != nil && listening?.channels == channels
        let isInterrupted = listening?.isInterrupted ?? false
        listening = Listening(
            channels: channels, onNotification: onNotification, onReset: onReset,
            isInterrupted: isInterrupted)
        if link == nil {
            _ = try connected()
        } else if !isHeard {
            try startListening()
        }
    }

    /// Sends LISTEN on a new connection if the session has channels.
    func startListening() throws(PostgresError) {
        guard let listening, let link else { return }
        guard transactionSetup == nil else { return try requireOwnProcess(for: "LISTEN") }
        let commands = listening.channels.map {
            "LISTEN \"\($0.replacing("\"", with: "\"\""))\""
        }
        try script(commands.joined(separator: ";\n"))
        thread.watch(link.descriptor) { [weak self] in
            self?.assumeIsolated { $0.readNotifications() }
        }
        guard listening.isInterrupted else { return }
        self.listening?.isInterrupted = false
        listening.onReset()
    }

    /// Called when data arrives on the idle connection.
    private func readNotifications() {
        guard let link else { return }
        guard link.consumeInput() else {
            disconnect()
            return
        }
        deliverNotifications()
    }

    func deliverNotifications() {
        guard let link, let listening else { return }
        while let notification = link.nextNotification() { listening.onNotification(notification) }
    }

    /// Calls `onReset` once for each lost connection.
    func reportReset() {
        guard let listening, !listening.isInterrupted else { return }
        self.listening?.isInterrupted = true
        listening.onReset()
    }
}
