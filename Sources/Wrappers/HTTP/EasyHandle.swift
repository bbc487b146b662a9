import CErrandCurl
import Glibc

/// The owner of one libcurl easy handle and its open connections.
///
/// Not `Sendable`: one actor owns it, and makes every call on its own thread.
@safe final class EasyHandle {
    let handle: UnsafeMutableRawPointer
    private let errorText: UnsafeMutableBufferPointer<CChar>
    private(set) var refusedOption: String?

    /// Returns nil if libcurl cannot be initialized or is out of memory.
    init?() {
        guard Self.libraryIsReady, let handle = unsafe curl_easy_init() else { return nil }
        unsafe self.handle = unsafe handle
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0)
        unsafe errand_curl_set_context(handle, CURLOPT_ERRORBUFFER, errorText.baseAddress)
        set(CURLOPT_NOSIGNAL, 1)
    }

    /// Sends QUIT on the open connections and closes them.
    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe errorText.deallocate()
    }

    func set(_ option: CURLoption, _ value: Int) {
        unsafe note(errand_curl_set_long(handle, option, value), option)
    }

    func set(_ option: CURLoption, size: Int) {
        unsafe note(errand_curl_set_size(handle, option, curl_off_t(size)), option)
    }

    /// Sets an option; nil resets it to its default.
    func set(_ option: CURLoption, _ value: String?) {
        unsafe note(errand_curl_set_text(handle, option, value), option)
    }

    func set(_ option: CURLoption, _ limit: Duration) {
        set(option, Int(limit.wholeMilliseconds))
    }

    /// Runs one upload; `exchange` provides the bytes and receives the replies.
    ///
    /// It blocks until the transfer has ended. libcurl keeps no pointer after this call, and
    /// `exchange` and the list of recipients outlive it.
    func perform(_ exchange: SMTPExchange, to recipients: [String]) -> CURLcode {
        var list: UnsafeMutablePointer<curl_slist>?
        for recipient in recipients {
            guard let longer = unsafe curl_slist_append(list, "<\(recipient)>") else {
                unsafe curl_slist_free_all(list)
                return CURLE_OUT_OF_MEMORY
            }
            unsafe list = longer
        }
        defer { unsafe curl_slist_free_all(list) }
        let context = unsafe Unmanaged.passUnretained(exchange).toOpaque()
        unsafe errand_curl_set_list(handle, CURLOPT_MAIL_RCPT, list)
        unsafe errand_curl_set_context(handle, CURLOPT_READDATA, context)
        unsafe errand_curl_set_context(handle, CURLOPT_DEBUGDATA, context)
        unsafe errand_curl_set_context(handle, CURLOPT_XFERINFODATA, context)
        unsafe errand_curl_set_reader(handle, readUpload)
        unsafe errand_curl_set_debugger(handle, receiveConversation)
        unsafe errand_curl_set_progress(handle, askToGoOn)
        forgetErrors()
        return withExtendedLifetime(exchange) { unsafe curl_easy_perform(handle) }
    }

    /// libcurl's message about the failure of the last transfer.
    func explanation(of code: CURLcode) -> String {
        let own = unsafe errorText.baseAddress.map { unsafe String(cString: $0) } ?? ""
        return own.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : own
    }

    /// Whether the last transfer used an open connection.
    var reusedConnection: Bool {
        var opened = 1
        unsafe errand_curl_get_long(handle, CURLINFO_NUM_CONNECTS, &opened)
        return opened == 0
    }

    /// Whether libcurl has reported an error since ``forgetErrors()``.
    var hasComplained: Bool { unsafe errorText[0] != 0 }

    func forgetErrors() { unsafe errorText[0] = 0 }

    func note(_ code: CURLcode, _ option: CURLoption) {
        guard code != CURLE_OK, refusedOption == nil else { return }
        let name = unsafe curl_easy_option_by_id(option).map {
            unsafe String(cString: $0.pointee.name)
        }
        refusedOption = "libcurl refuses option \(name ?? "\(option.rawValue)")"
    }

    /// Initializes libcurl once for the process, at the first use.
    static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_SSL)) == CURLE_OK

    /// Ignores SIGPIPE, so that a lost connection does not terminate the process: with `NOSIGNAL`
    /// libcurl does not handle it, and OpenSSL may write to a socket without `MSG_NOSIGNAL`.
    static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

/// Called by libcurl for the next bytes of the message; 0 ends it.
private let readUpload: curl_read_callback = { buffer, size, count, context in
    guard let buffer = unsafe buffer, let context = unsafe context else { return 0 }
    let exchange = unsafe Unmanaged<SMTPExchange>.fromOpaque(context).takeUnretainedValue()
    let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
    return exchange.read(upTo: target.count) { bytes in
        unsafe bytes.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
    }
}

/// Called by libcurl with each command that it sent and each reply line that it received.
private let receiveConversation: curl_debug_callback = { _, kind, data, size, context in
    guard kind == CURLINFO_HEADER_IN || kind == CURLINFO_HEADER_OUT,
        let data = unsafe data, let context = unsafe context
    else { return 0 }
    let exchange = unsafe Unmanaged<SMTPExchange>.fromOpaque(context).takeUnretainedValue()
    let raw = unsafe UnsafeRawBufferPointer(start: data, count: size)
    let text = unsafe String(decoding: raw, as: UTF8.self)
    if kind == CURLINFO_HEADER_IN {
        exchange.conversation.received(line: text)
    } else {
        exchange.conversation.sent(command: text)
    }
    return 0
}

/// Called by libcurl at least once a second; any result but 0 cancels the transfer.
private let askToGoOn: curl_xferinfo_callback = { context, _, _, _, _ in
    guard let context = unsafe context else { return 0 }
    let exchange = unsafe Unmanaged<SMTPExchange>.fromOpaque(context).takeUnretainedValue()
    return exchange.shouldStop ? 1 : 0
}
