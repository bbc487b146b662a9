import Dispatch
import Glibc
import Synchronization

/// Handling of the signals that request the end of a process: SIGTERM and SIGINT.
public enum Termination {
    // Safe to move between threads: the source is only held, never called, once it is active.
    private struct Kept: @unchecked Sendable {
        var source: any DispatchSourceSignal
    }

    private static let sources = Mutex<[Kept]>([])

    /// Calls `action` on each of these signals, which no longer terminate the process.
    ///
    /// It is in effect when it returns: an earlier signal may be lost.
    public static func onRequest(_ action: @escaping @Sendable () -> Void) {
        for number in [SIGTERM, SIGINT] {
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            let isHeard = DispatchSemaphore(value: 0)
            source.setEventHandler(handler: action)
            source.setRegistrationHandler { isHeard.signal() }
            source.activate()
            isHeard.wait()
            let kept = Kept(source: source)
            sources.withLock { $0.append(kept) }
        }
    }
}
