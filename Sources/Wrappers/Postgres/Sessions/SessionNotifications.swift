import ErrandThreads

/// A message of NOTIFY.
public struct PostgresNotification: Sendable, Equatable {
    /// The channel that it came over.
    public var channel: String
    /// What it says.
    public var payload: String
}

/// Who is told about NOTIFY.
struct Listening {
    var channels: [String]
    var onNotification: @Sendable (PostgresNotification) -> Void
    var onReset: @Sendable () -> Void
    /// Whether a connection that listened is gone, and no other listens yet.
    var isInterrupted = false
}

extension Session {
    /// Hears NOTIFY on channels from now on, also while nothing else is done here.
    ///
    /// - Parameters:
    ///   - onNotification: called on the session's thread; it must not wait.
    ///   - onReset: called when the connection was lost, and again once a new one listens:
    ///     whatever was sent in between is lost. The next statement connects and listens again;
    ///     locks and temporary tables of the old connection are gone.
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

    /// Lets a fresh connection listen, if anybody wants to hear.
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

    /// Called when the idle connection has something to say.
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

    /// Says that the connection is gone, once for each break.
    func tellReset() {
        guard let listening, !listening.isInterrupted else { return }
        self.listening?.isInterrupted = true
        listening.onReset()
    }
}
