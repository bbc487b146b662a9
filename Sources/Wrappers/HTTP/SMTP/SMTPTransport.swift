import CErrandCurl
import ErrandThreads

/// Sends messages to one server, one after the other, over a connection that it keeps open.
///
/// libcurl blocks, so the actor runs on a thread of its own. Several transports send at once.
package actor SMTPTransport {
    private let endpoint: SMTPEndpoint
    private var easy: EasyHandle?
    private let thread: OwnThread

    /// Runs the actor's methods on its own thread.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe thread.asUnownedSerialExecutor()
    }

    /// Connects on the first message, not before.
    package init(to endpoint: SMTPEndpoint) {
        self.endpoint = endpoint
        thread = OwnThread(name: "errand-smtp")
    }

    // Isolated, so that QUIT is said from the thread that owns the connection.
    isolated deinit {
        easy = nil
        thread.stop()
    }

    /// Hands one message to the server.
    ///
    /// A connection that the server closed while it lay idle is opened anew, once and in silence.
    /// - Parameters:
    ///   - message: the whole message with CRLF line ends; libcurl doubles leading dots.
    ///   - envelope: who it is from and for.
    /// - Returns: the server's answers; some recipients may have been refused among others.
    /// - Throws: what failed and at which step; ``SMTPFailure/isAmbiguous`` tells whether the
    ///   message may have been taken all the same.
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
            return .failure(.local("libcurl could not be started: is there memory left?"))
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
        // The environment's proxies are for other programs: what is in force is in the settings.
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

    /// The kept connection was gone, or on its way out, before the message was begun.
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
