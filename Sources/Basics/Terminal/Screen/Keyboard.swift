import Glibc
import Synchronization
import ErrandThreads

/// Reads key presses from the terminal on standard input.
///
/// The terminal must be in raw mode, as ``FullScreen`` sets it.
package final class Keyboard: Sendable {
    private let thread = DedicatedThreadExecutor(name: "errand-keys")
    private let input: Int32
    private let decoder = Mutex(KeyDecoder())

    /// The maximum time between the bytes of an escape sequence, in milliseconds, also over ssh.
    private static let pause: Int32 = 50

    /// The keyboard of a screen's input.
    package init(_ screen: Screen) { input = screen.input }

    deinit { thread.stop() }

    /// Calls `pressed` with each key, on a dedicated thread, and `ended` at the end of the input.
    package func listen(
        pressed: @escaping @Sendable (Key) -> Void, ended: @escaping @Sendable () -> Void
    ) {
        thread.watch(input) { [weak self] in
            guard let self else { return }
            guard let bytes = read() else {
                thread.watch(nil)
                return ended()
            }
            var keys = decoder.withLock { $0.keys(in: bytes) }
            if decoder.withLock({ $0.isWithinKey }), !hasMore(within: Self.pause) {
                keys += decoder.withLock { $0.keysAtPause() }
            }
            for key in keys { pressed(key) }
        }
    }

    /// Stops reading keys, so that another process can read the terminal.
    package func pauseListening() { thread.watch(nil) }

    private func read() -> [UInt8]? {
        var count = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 1024) { buffer, filled in
            repeat {
                count = unsafe Glibc.read(input, buffer.baseAddress, 1024)
            } while count < 0 && (errno == EINTR || errno == EAGAIN)
            filled = max(count, 0)
        }
        return count > 0 ? bytes : nil
    }

    private func hasMore(within milliseconds: Int32) -> Bool {
        var ready = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&ready, 1, milliseconds) > 0
    }
}
