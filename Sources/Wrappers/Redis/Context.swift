import CErrandRedis
import Glibc

/// The owner of one `redisContext`: the only type that calls hiredis.
///
/// Like hiredis, it is not thread-safe: `Connection` uses it only on its own thread.
@safe final class Context {
    /// A reply in hiredis's memory, freed with this object.
    @safe final class Answer {
        fileprivate let pointer: UnsafeMutablePointer<redisReply>

        fileprivate init(_ pointer: UnsafeMutablePointer<redisReply>) {
            unsafe self.pointer = unsafe pointer
        }

        deinit { unsafe freeReplyObject(pointer) }
    }

    private let context: UnsafeMutablePointer<redisContext>

    init(
        _ address: RedisAddress, connectTimeout: Duration, replyTimeout: Duration
    ) throws(RedisError) {
        let made: UnsafeMutablePointer<redisContext>?
        switch address.place {
        case .tcp(let host, let port):
            unsafe made = redisConnectWithTimeout(host, port, timeval(connectTimeout))
        case .socket(let path):
            unsafe made = redisConnectUnixWithTimeout(path, timeval(connectTimeout))
        case .sentinels:
            throw .usage("\(address): connect to the service's master, not to the service")
        }
        guard let made = unsafe made else {
            throw .unreachable("\(address): no memory for a connection")
        }
        unsafe context = unsafe made
        guard unsafe made.pointee.err == 0 else {
            throw .unreachable(
                "\(address) cannot be reached: \(errorText); check that it is running")
        }
        guard setReplyTimeout(replyTimeout) else {
            throw .unreachable("\(address): the socket does not accept a time limit")
        }
        if case .tcp = address.place { _ = unsafe redisEnableKeepAlive(made) }
    }

    deinit { unsafe redisFree(context) }

    var descriptor: Int32 { unsafe context.pointee.fd }

    var errorText: String {
        let text = unsafe String(cString: errand_redis_error(context))
        // hiredis reports a read that timed out by the errno of the socket.
        return text == "Resource temporarily unavailable" ? "no answer in time" : text
    }

    /// Sets the time limit of later answers.
    func setReplyTimeout(_ limit: Duration) -> Bool {
        unsafe redisSetTimeout(context, timeval(limit)) == REDIS_OK
    }

    /// Appends the bytes of a command, to be sent before the next answer is read.
    func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                _ = unsafe redisAppendFormattedCommand(context, text.baseAddress, text.count)
            }
        }
    }

    /// Sends the appended commands; returns false if the connection is lost.
    func flush() -> Bool {
        var isDone: Int32 = 0
        while isDone == 0 {
            guard unsafe redisBufferWrite(context, &isDone) == REDIS_OK else { return false }
        }
        return true
    }

    /// Sends the appended commands and waits for one answer; nil if the connection is lost.
    func nextAnswer() -> Answer? {
        var reply: UnsafeMutableRawPointer?
        guard unsafe redisGetReply(context, &reply) == REDIS_OK, let reply = unsafe reply else {
            return nil
        }
        return unsafe Answer(reply.assumingMemoryBound(to: redisReply.self))
    }
}

extension Reply {
    /// Copies an answer.
    static func copy(_ answer: Context.Answer) -> Reply {
        unsafe Reply(UnsafePointer(answer.pointer))
    }

    /// Copies an error; any other reply becomes null, without a copy.
    init(head answer: Context.Answer) {
        self =
            unsafe answer.pointer.pointee.type == REDIS_REPLY_ERROR
            ? unsafe Reply(UnsafePointer(answer.pointer)) : .null
    }

    static func collectIntegers(
        _ answer: Context.Answer, into numbers: inout [Int64]
    ) throws(RedisError) {
        try unsafe collectIntegers(UnsafePointer(answer.pointer), into: &numbers)
    }
}

extension timeval {
    fileprivate init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        // Zero means no limit to the socket.
        let microseconds = max(attoseconds / 1_000_000_000_000, seconds == 0 ? 1_000 : 0)
        self.init(tv_sec: Int(seconds), tv_usec: Int(microseconds))
    }
}
