/// Bulk inserts and reads.
extension Session {
    /// Sends rows with COPY … FROM STDIN; returns the number of inserted rows.
    ///
    /// - Parameter next: returns the next bytes, or nil at the end. If it throws, the COPY is
    ///   rolled back and the error is rethrown. It must not use this session.
    public func copyIn(_ sql: String, next: () throws -> [UInt8]?) throws -> Int {
        try Self.checkText(sql)
        let link = try connected()
        do throws(PostgresError) {
            try link.sendScript(sql)
            try startCopy(on: link)
        } catch .server(let error) {
            throw failed(error)
        } catch .usage(let text) where link.isReady {
            settle()
            throw PostgresError.usage(text)
        } catch {
            throw brokenOff(error)
        }
        isCopying = true
        defer { isCopying = false }
        var mistake: (any Error)?
        var outcome = CopyOutcome()
        do throws(PostgresError) {
            mistake = try feed(link, next)
            try link.endCopy(failing: mistake == nil ? nil : "the sender gave up")
            while let result = try link.nextResult() {
                // A further COPY would be answered again and again until its rows have arrived.
                try Self.refuseCopy(result)
                outcome.note(result)
            }
        } catch {
            throw brokenOff(error, after: outcome.failure)
        }
        if let failure = outcome.failure {
            let error = failed(failure)
            throw mistake ?? error
        }
        settle()
        if let mistake { throw mistake }
        return outcome.count
    }

    private struct CopyOutcome {
        var count = 0
        var failure: ServerError?

        mutating func note(_ result: ResultBox) {
            if result.kind == .rows { count = result.affected }
            if result.kind == .failed { failure = failure ?? result.error }
        }
    }

    private func startCopy(on link: Link) throws(PostgresError) {
        guard let start = try link.nextResult() else { throw Self.outOfStep }
        switch start.kind {
        case .copyIn: return
        case .failed:
            let failure = start.error
            do throws(PostgresError) { while try link.nextResult() != nil {} } catch {
                throw brokenOff(error, after: failure)
            }
            throw .server(failure)
        case .rows:
            while let result = try link.nextResult() { try Self.refuseCopy(result) }
            throw .usage("copyIn accepts only COPY … FROM STDIN")
        default: try Self.refuseCopy(start)
        }
    }

    /// Sends the bytes of `next`; returns the error that it threw, if any.
    private func feed(
        _ link: Link, _ next: () throws -> [UInt8]?
    ) throws(PostgresError) -> (any Error)? {
        while true {
            let bytes: [UInt8]?
            do { bytes = try next() } catch { return error }
            guard let bytes else { return nil }
            try link.putCopyData(bytes)
        }
    }

    // MARK: Reading

    /// Runs COPY … TO STDOUT; returns the number of rows.
    ///
    /// - Parameter receive: receives the bytes of each row. If it throws, the connection is closed
    ///   and the error is rethrown. It must not use this session.
    package func copyOut(_ sql: String, receive: ([UInt8]) throws -> Void) throws -> Int {
        try Self.checkText(sql)
        let link = try connected()
        var outcome = CopyOutcome()
        var mistake: (any Error)?
        isCopying = true
        defer { isCopying = false }
        do throws(PostgresError) {
            try link.sendScript(sql)
            mistake = try drain(link, &outcome, receive)
        } catch .usage(let text) where link.isReady {
            settle()
            throw PostgresError.usage(text)
        } catch {
            throw brokenOff(error, after: outcome.failure)
        }
        if let mistake {
            // The rest of the rows is of no use.
            disconnect()
            throw mistake
        }
        if let failure = outcome.failure {
            let error = failed(failure)
            throw error
        }
        settle()
        return outcome.count
    }

    /// Hands on the rows of a COPY; returns the error that `receive` threw, if any.
    private func drain(
        _ link: Link, _ outcome: inout CopyOutcome, _ receive: ([UInt8]) throws -> Void
    ) throws(PostgresError) -> (any Error)? {
        var isCopy = false
        while let result = try link.nextResult() {
            switch result.kind {
            // The server would answer this again and again until it has received rows.
            case .copyIn: throw .usage("copyOut accepts only COPY … TO STDOUT")
            case .copyOut:
                isCopy = true
                while let bytes = try link.getCopyData() {
                    do { try receive(bytes) } catch { return error }
                }
            default: outcome.note(result)
            }
        }
        guard isCopy || outcome.failure != nil else {
            throw .usage("copyOut accepts only COPY … TO STDOUT")
        }
        return nil
    }
}
