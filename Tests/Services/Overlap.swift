import ErrandPostgres

extension TestDatabase {
    private static let waitsOrEnded = """
        SELECT EXISTS (SELECT FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.application_name = 'errand-second'
              AND a.query = $1 AND (a.wait_event_type = 'Lock' OR a.state = 'idle'))
        """

    /// Runs a second statement while the transaction of a first one is open.
    ///
    /// The first one is committed as soon as the second waits for it, or has ended.
    ///
    /// - Returns: the first column of the second statement's rows, a text.
    package func overlap(_ first: String, _ second: String) async throws -> [String] {
        let (holder, other) = (session("errand-first"), session("errand-second"))
        let watch = session("errand-watch")
        try await holder.script("BEGIN; \(first)")
        let answer = Task { try await other.query(second).map { try $0.text(0) } }
        for _ in 1...5000 {
            if try await watch.query(Self.waitsOrEnded, [.text(second)]).bool(0, 0) { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        try await holder.script("COMMIT")
        let answers = await answer.result
        for session in [holder, other, watch] { await session.close() }
        return try answers.get()
    }
}
