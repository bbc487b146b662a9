package import ErrandRedis

/// A key in Redis that has another type than Errand needs, so that commands on it fail.
package struct WrongKey: Sendable, Equatable, CustomStringConvertible {
    /// The name of the key.
    package var key: String
    /// Its type, as `TYPE` reports it.
    package var type: String
    /// The type that Errand needs.
    package var expected: String

    /// The key and its types, for people.
    package var description: String { "\(key) (\(type) instead of \(expected))" }
}

/// The repair of keys that another program has overwritten.
///
/// Redis holds nothing that PostgreSQL has not: such a key is deleted, and the feeder stages the
/// jobs again.
extension ReadyWindow {
    /// Runs commands, and once more if a key had another type and was deleted.
    ///
    /// - Parameters:
    ///   - lanes: the lanes whose windows the commands use.
    ///   - worker: the worker whose wake key they use.
    func repairing<Value>(
        _ lanes: @autoclosure () -> [Lane] = [], worker: Int64? = nil,
        _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let error as RedisError where error.isWrongType {
            // Clients delete no keys: the feeder does, within a second.
            guard (try? await repair(lanes(), worker: worker)) == true else { throw error }
            return try await body()
        }
    }

    /// Throws the error of a reply that reports a key of another type; other errors pass.
    static func expectTypes(in replies: [Reply]) throws(RedisError) {
        for case .error(let text) in replies {
            let error = RedisError.server(text)
            if error.isWrongType { throw error }
        }
    }

    /// Deletes the keys that have another type, and has the feeder stage all due jobs again.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    func repair(_ lanes: [Lane] = [], worker: Int64? = nil) async throws -> Bool {
        guard let log else { return false }
        var wrong: [WrongKey] = []
        let all = keys.single + extraKeys(lanes, worker)
        for start in stride(from: 0, to: all.count, by: 1_000) {
            wrong += try await deleteWrong(all[start..<min(start + 1_000, all.count)])
        }
        guard !wrong.isEmpty else { return false }
        let names = wrong.map(\.description).joined(separator: ", ")
        throttle.warn(
            log,
            "deleted keys in Redis that had another type than Errand needs; the jobs are staged "
                + "again from PostgreSQL: \(names)")
        return true
    }

    private func extraKeys(_ lanes: [Lane], _ worker: Int64?) -> [(key: String, type: String)] {
        (lanes.map(keys.window) + (worker.map { [keys.wake(worker: $0)] } ?? []))
            .map { ($0, RedisKeys.windowType) }
    }

    // KEYS fed, then the keys to check   ARGV their types
    // Returns the name and the type of each key that it deleted.
    private static let repairScript = Script(
        """
        local wrong = {}
        for i, expected in ipairs(ARGV) do
            local key = KEYS[i + 1]
            local found = redis.call('TYPE', key).ok
            if found ~= 'none' and found ~= expected then
                redis.call('UNLINK', key)
                wrong[#wrong + 1] = key
                wrong[#wrong + 1] = found
            end
        end
        if #wrong > 0 then redis.call('UNLINK', KEYS[1]) end
        return wrong
        """)

    private func deleteWrong(
        _ expected: ArraySlice<(key: String, type: String)>
    ) async throws -> [WrongKey] {
        var arguments = Arguments()
        for (_, type) in expected { arguments.append(type) }
        let reply = try await connection.run(
            Self.repairScript, keys: [keys.fed] + expected.map(\.key), arguments: arguments)
        let texts = (reply.array ?? []).compactMap(\.text)
        let types = Dictionary(expected.map { ($0.key, $0.type) }) { $1 }
        return stride(from: 0, to: texts.count - 1, by: 2).map { place in
            WrongKey(
                key: texts[place], type: texts[place + 1], expected: types[texts[place]] ?? "none")
        }
    }
}

extension RedisKeys {
    /// Returns the keys of this database that have another type than Errand needs, without
    /// changing any: those of which there is one, and the windows of the lanes in use.
    ///
    /// - Throws: `RedisError`
    package func wrongKeys(over connection: Connection) async throws -> [WrongKey] {
        let wrong = try await wrongKeys(among: single, over: connection)
        guard !wrong.contains(where: { $0.key == lanes }) else { return wrong }
        let names = try await connection.send(Command("SMEMBERS", lanes)).array ?? []
        let windows = names.compactMap { $0.text.flatMap { Lane(name: $0) } }.map {
            (key: window($0), type: Self.windowType)
        }
        return wrong + (try await wrongKeys(among: windows, over: connection))
    }

    private func wrongKeys(
        among expected: [(key: String, type: String)], over connection: Connection
    ) async throws -> [WrongKey] {
        let replies = try await connection.pipeline(expected.map { Command("TYPE", $0.key) })
        return try zip(expected, replies).compactMap { expected, reply in
            if case .error(let text) = reply { throw RedisError.server(text) }
            guard let type = reply.text, type != "none", type != expected.type else { return nil }
            return WrongKey(key: expected.key, type: type, expected: expected.type)
        }
    }
}
