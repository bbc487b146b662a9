import CErrandPostgres

/// Requests that the server stop the statement of a connection.
// Safe to share: libpq never changes a PGcancel, and PQcancel is documented as safe to call from
// any thread. It is freed with the last reference to this object.
@safe final class Canceller: @unchecked Sendable {
    private let handle: OpaquePointer

    /// - Parameter connection: the connection; call this on the thread that owns it.
    init?(_ connection: OpaquePointer) {
        guard let handle = unsafe PQgetCancel(connection) else { return nil }
        unsafe self.handle = unsafe handle
    }

    deinit { unsafe PQfreeCancel(handle) }

    /// Sends the request.
    ///
    /// The server does not report whether it stopped a statement.
    func cancel() {
        var message = [CChar](repeating: 0, count: 256)
        _ = unsafe PQcancel(handle, &message, Int32(message.count))
    }
}
