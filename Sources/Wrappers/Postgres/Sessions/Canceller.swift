import CErrandPostgres

/// What it takes to ask a server to stop the statement of one connection.
// Safe to share: libpq never changes a PGcancel, and PQcancel is documented as safe to call from
// any thread; it is freed only when nobody holds this object any more.
@safe final class Canceller: @unchecked Sendable {
    private let handle: OpaquePointer

    /// - Parameter connection: the connection, by the thread that owns it.
    init?(_ connection: OpaquePointer) {
        guard let handle = unsafe PQgetCancel(connection) else { return nil }
        unsafe self.handle = unsafe handle
    }

    deinit { unsafe PQfreeCancel(handle) }

    /// Sends the request; whether there was anything to stop is not told.
    func cancel() {
        var message = [CChar](repeating: 0, count: 256)
        _ = unsafe PQcancel(handle, &message, Int32(message.count))
    }
}
