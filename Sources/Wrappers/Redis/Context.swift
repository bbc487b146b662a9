import CErrandRedis
import Glibc

/// The owner of one `redisContext`: the only place where hiredis is called.
///
/// Not thread-safe, as hiredis is not: `Connection` calls it on its own thread alone.
@safe final class Context {
    /// One answer, in hiredis's memory until it is dropped.
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
            throw .usage("\(address): a service is reached by way of the master that it has")
        }
        guard let made = unsafe made else {
            throw .unreachable("\(address): no memory for a connection")
        }
        unsafe context = unsafe made
        guard unsafe made.pointee.err == 0 else {
            throw .unreachable("\(address) cannot be reached: \(errorText); is it running?")
        }
        guard setReplyTimeout(replyTimeout) else {
            throw .unreachable("\(address): the socket takes no time limit")
        }
        if case .tcp = address.place { _ = unsafe redisEnableKeepAlive(made) }
    }

    deinit { unsafe redisFree(context) }

    var descriptor: Int32 { unsafe context.pointee.fd }

    var errorText: String {
        let text = unsafe String(cString: errand_redis_error(context))
        // hiredis reports a read that hit its time limit as the errno of the socket.
        return text == "Resource temporarily unavailable" ? "no answer in time" : text
    }

    /// Bounds every later wait for an answer.
    func setReplyTimeout(_ limit: Duration) -> Bool {
        unsafe redisSetTimeout(context, timeval(limit)) == REDIS_OK
    }

    /// Adds bytes of a finished command to what is sent with the next answer that is awaited.
    func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                _ = unsafe redisAppendFormattedCommand(context, text.baseAddress, text.count)
            }
        }
    }

    /// Sends what was appended; false when the connection is lost.
    func flush() -> Bool {
        var isDone: Int32 = 0
        while isDone == 0 {
            guard unsafe redisBufferWrite(context, &isDone) == REDIS_OK else { return false }
        }
        return true
    }

    /// Sends what was appended and waits for one answer; nil when the connection is lost.
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

    /// An error as such; anything else as null, without copying it.
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
        // Zero means "for ever" to the socket.
        let microseconds = max(attoseconds / 1_000_000_000_000, seconds == 0 ? 1_000 : 0)
        self.init(tv_sec: Int(seconds), tv_usec: Int(microseconds))
    }
}
