import CErrandCurl
import ErrandThreads

/// Sends messages to one server, one at a time, over a connection that it keeps open.
///
/// libcurl blocks, so the actor runs on a thread of its own. Several transports send concurrently.
package actor SMTPTransport {
    private let endpoint: SMTPEndpoint
    private var easy: EasyHandle?
    private let thread: DedicatedThreadExecutor

    /// The executor of the actor's own thread.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe thread.asUnownedSerialExecutor()
    }

    /// Creates a transport.
    ///
    /// It connects with the first message.
    package init(to endpoint: SMTPEndpoint) {
        self.endpoint = endpoint
        thread = DedicatedThreadExecutor(name: "errand-smtp")
    }

    // Isolated, so that QUIT is sent from the thread that owns the connection.
    isolated deinit {
        easy = nil
        thread.stop()
    }

    /// Sends one message.
    ///
    /// If the server closed the idle connection, the transport connects again, once.
    /// - Parameters:
    ///   - message: the whole message with CRLF line ends; libcurl doubles leading dots.
    ///   - envelope: the sender and the recipients.
    /// - Returns: the server's answers; some of several recipients may have been refused.
    /// - Throws: the cause and step of the failure. ``SMTPFailure/isAmbiguous`` is true if the
    ///   server may have accepted the message.
    package func send(
        _ message: [UInt8], envelope: SMTPEnvelope
    ) async throws(SMTPFailure) -> SMTPReceipt {
        let cancellation = Cancellation()
        let outcome = await withTaskCancellationHandler {
            deliver(message, envelope, cancellation)
        } onCancel: {
            cancellation.ask()
        }
        return try outcome.get()
    }

    private func deliver(
        _ message: [UInt8], _ envelope: SMTPEnvelope, _ cancellation: Cancellation
    ) -> Result<SMTPReceipt, SMTPFailure> {
        let first = attempt(message, envelope, cancellation, onNewConnection: false)
        guard case .failure(let failure) = first, easy?.reusedConnection == true,
            failure.meansStaleConnection
        else { return first }
        return attempt(message, envelope, cancellation, onNewConnection: true)
    }

    private func attempt(
        _ message: [UInt8], _ envelope: SMTPEnvelope, _ cancellation: Cancellation,
        onNewConnection: Bool
    ) -> Result<SMTPReceipt, SMTPFailure> {
        guard let easy = easy ?? open() else {
            return .failure(.local("libcurl could not be initialized; check the free memory"))
        }
        self.easy = easy
        easy.set(CURLOPT_FRESH_CONNECT, onNewConnection ? 1 : 0)
        easy.set(CURLOPT_MAIL_FROM, "<\(envelope.sender)>")
        easy.set(CURLOPT_INFILESIZE_LARGE, size: message.count)
        if let refused = easy.refusedOption { return .failure(.local(refused)) }
        let exchange = SMTPExchange(message: message, cancellation: cancellation)
        let code = easy.perform(exchange, to: envelope.recipients)
        let conversation = exchange.conversation
        guard code == CURLE_OK, let reply = conversation.answer else {
            return .failure(
                SMTPFailure(code, in: conversation, explanation: easy.explanation(of: code)))
        }
        return .success(
            SMTPReceipt(
                reply: reply, recipients: conversation.recipients,
                reusedConnection: easy.reusedConnection))
    }

    private func open() -> EasyHandle? {
        EasyHandle.blockBrokenPipeSignal()
        guard let easy = EasyHandle() else { return nil }
        easy.set(CURLOPT_URL, endpoint.url)
        easy.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        // Ignore the environment's proxies: only the settings apply.
        easy.set(CURLOPT_PROXY, "")
        easy.set(CURLOPT_UPLOAD, 1)
        easy.set(CURLOPT_VERBOSE, 1)
        easy.set(CURLOPT_NOPROGRESS, 0)
        easy.set(CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, endpoint.connectLimit)
        easy.set(CURLOPT_TIMEOUT_MS, endpoint.transferLimit)
        easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        easy.set(CURLOPT_USE_SSL, Int(endpoint.security.level.rawValue))
        if let file = endpoint.authorityFile { easy.set(CURLOPT_CAINFO, file) }
        if let credentials = endpoint.credentials {
            easy.set(CURLOPT_USERNAME, credentials.user)
            easy.set(CURLOPT_PASSWORD, credentials.password)
        }
        return easy
    }
}

extension SMTPEndpoint.Security {
    fileprivate var level: curl_usessl {
        switch self {
        case .none: CURLUSESSL_NONE
        case .startTLSIfOffered: CURLUSESSL_TRY
        case .startTLS, .implicitTLS: CURLUSESSL_ALL
        }
    }
}

extension SMTPFailure {
    fileprivate static func local(_ explanation: String) -> SMTPFailure {
        SMTPFailure(stage: .connect, cause: .local, reply: nil, explanation: explanation)
    }

    /// Whether the open connection was lost before the message was started.
    fileprivate var meansStaleConnection: Bool {
        stage <= .sender && (cause == .disconnected || reply?.code == 421)
    }

    fileprivate init(_ code: CURLcode, in conversation: SMTPConversation, explanation: String) {
        let (stage, cause) = Self.classify(code, conversation)
        self.init(
            stage: stage, cause: cause, reply: conversation.refusal, explanation: explanation)
    }

    private static func classify(
        _ code: CURLcode, _ conversation: SMTPConversation
    ) -> (SMTPStage, Cause) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            (.resolve, .disconnected)
        case CURLE_COULDNT_CONNECT:
            (.connect, .disconnected)
        case CURLE_OPERATION_TIMEDOUT:
            (conversation.stage, .timedOut)
        case CURLE_ABORTED_BY_CALLBACK:
            (conversation.stage, .cancelled)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_USE_SSL_FAILED,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR:
            (.encryption, .insecure)
        case CURLE_LOGIN_DENIED:
            (.authentication, conversation.answer == nil ? .disconnected : .refused)
        case CURLE_OUT_OF_MEMORY, CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL,
            CURLE_BAD_FUNCTION_ARGUMENT, CURLE_FAILED_INIT, CURLE_NOT_BUILT_IN:
            (conversation.stage, .local)
        default:
            (conversation.stage, conversation.refusal == nil ? .disconnected : .refused)
        }
    }
}
