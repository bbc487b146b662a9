import Synchronization
import ErrandThreads

/// Sends requests, many at once over few connections: HTTP/2 where the server has it.
///
/// All of libcurl's work is done on one thread of the client's own, whoever calls. Redirects are
/// never followed, the environment's proxies not used, cookies not kept.
package final class HTTPClient: Sendable {
    private let inbox = HTTPInbox()
    private let running: Task<Void, Never>

    /// Starts the client's thread; connections are made by the first requests.
    package init(_ settings: HTTPSettings) {
        let engine = HTTPEngine()
        running = Task { [inbox] in await engine.run(settings, inbox) }
    }

    /// Ends the thread without waiting for it; ``close()`` waits.
    deinit { inbox.close() }

    /// Sends one request and waits for its answer.
    ///
    /// Cancelling the task ends the request.
    ///
    /// - Returns: the answer, whatever its status.
    /// - Throws: why there is none, and whether the server may have had the request.
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

    /// Ends what is on its way as cancelled, closes the connections, and waits for all that.
    ///
    /// Requests that come later fail at once.
    package func close() async {
        inbox.close()
        await running.value
    }
}

/// Lends a thread of its own to the loop, which blocks.
private actor HTTPEngine {
    private let thread = OwnThread(name: "errand-http")

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
        // Without libcurl every request fails, until nobody sends any more.
        while true {
            let mail = inbox.take()
            for arrival in mail.arrivals {
                arrival.fail(.local, "libcurl could not be started: is there memory left?")
            }
            if mail.isClosing { return }
            inbox.waitForBell()
        }
    }
}
