import Synchronization
import ErrandThreads

/// Sends concurrent requests over few connections, by HTTP/2 if the server supports it.
///
/// libcurl runs on a thread of the client's own. The client does not follow redirects, use the
/// environment's proxies, or keep cookies.
package final class HTTPClient: Sendable {
    private let inbox = HTTPInbox()
    private let running: Task<Void, Never>

    /// Starts the client's thread.
    ///
    /// The first requests open connections.
    package init(_ settings: HTTPSettings) {
        let engine = HTTPEngine()
        running = Task { [inbox] in await engine.run(settings, inbox) }
    }

    /// Ends the thread without waiting for it; ``close()`` waits.
    deinit { inbox.close() }

    /// Sends a request and waits for the response.
    ///
    /// Cancelling the task cancels the request.
    ///
    /// - Returns: the response, with any status.
    /// - Throws: why there is no response, and whether the server may have received the request.
    package func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPResponse {
        if let fault = request.fault {
            throw HTTPFailure(cause: .local, isAmbiguous: false, detail: fault)
        }
        let ticket = HTTPTicket(request)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { sender in
                inbox.add(HTTPInbox.Arrival(ticket: ticket, sender: sender))
            }
        } onCancel: {
            inbox.cancel(ticket)
        }
        return try outcome.get()
    }

    /// Cancels the requests in flight, closes the connections, and waits for both.
    ///
    /// Later requests fail at once.
    package func close() async {
        inbox.close()
        await running.value
    }
}

/// Runs the blocking loop on a thread of its own.
private actor HTTPEngine {
    private let thread = DedicatedThreadExecutor(name: "errand-http")

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe thread.asUnownedSerialExecutor()
    }

    deinit { thread.stop() }

    func run(_ settings: HTTPSettings, _ inbox: HTTPInbox) {
        EasyHandle.blockBrokenPipeSignal()
        if let loop = TransferLoop(settings, inbox: inbox) {
            loop.run()
            return
        }
        // Without libcurl every request fails.
        while true {
            let mail = inbox.take()
            for arrival in mail.arrivals {
                arrival.fail(.local, "libcurl could not be initialized; check the free memory")
            }
            if mail.isClosing { return }
            inbox.waitForBell()
        }
    }
}
