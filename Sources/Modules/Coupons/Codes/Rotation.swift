package import ErrandCrypto
package import Errand
package import ErrandPostgres

/// Turns the codes of all coupons: makes secrets for the time to come, and destroys the old ones.
///
/// What it costs does not depend on how many coupons there are.
package struct Rotation: Sendable {
    private let keys: SealingKeys
    private let log: Log

    /// Seals by `keys` what it makes.
    package init(sealing keys: SealingKeys, log: Log) {
        self.keys = keys
        self.log = log
    }

    /// What one rotation has done.
    package struct Result: Sendable, Equatable {
        package var made = 0
        package var destroyed = 0
        /// Secrets that a crash of the server had emptied from its memory.
        package var opened = 0
    }

    /// One series as the database has it.
    private struct Standing: Sendable {
        var series: CodeSeries
        var period: Int64
        var ahead: Int
        var now: Int64
        var epochs: [Epoch] = []
        /// Of those whose secrets are not open, by their starts.
        var closed: [Int64: [UInt8]] = [:]
    }

    /// Rotates in one transaction; rotations at the same time wait for each other.
    ///
    /// Of a crash of the server it opens the secrets again. A worker that lacks a key leaves that
    /// to another, which has it: codes that are shown stay good.
    ///
    /// - Parameters:
    ///   - replacing: whether all secrets go, because one may be known to somebody.
    ///   - now: for another clock than the database's; in seconds since 1970.
    /// - Throws: `CryptoError.unknownKey` when a secret is sealed by a key that is not there.
    @discardableResult
    package func run(
        in transaction: Transaction, replacing: Bool = false, now: Int64? = nil
    ) async throws -> Result {
        var result = Result()
        var statements: [Statement] = []
        for var standing in try await read(in: transaction) {
            if let now { standing.now = now }
            try add(standing, replacing: replacing, to: &statements, &result)
        }
        try await transaction.pipeline(statements)
        return result
    }

    private func read(in transaction: Transaction) async throws -> [Standing] {
        // The epochs are read by a statement of its own: its snapshot comes after the lock.
        let series = try await transaction.query(EpochStatements.lock, [])
        let epochs = try await transaction.query(EpochStatements.read, [])
        var all: [Standing] = []
        for row in series {
            guard let series = CodeSeries(rawValue: try row.text("series")) else { continue }
            var standing = Standing(
                series: series, period: try row.int64("period"), ahead: Int(try row.int32("ahead")),
                now: try row.int64("now"))
            for row in epochs where try row.text("series") == series.rawValue {
                let epoch = Epoch(
                    start: try row.int64("start"), slot: try row.int16("slot"),
                    goodUntil: try row.int64("good_until"))
                standing.epochs.append(epoch)
                if try !row.bool("is_open") {
                    standing.closed[epoch.start] = try row.bytes("sealed")
                }
            }
            all.append(standing)
        }
        return all
    }

    private func add(
        _ standing: Standing, replacing: Bool, to statements: inout [Statement],
        _ result: inout Result
    ) throws(CryptoError) {
        let series = standing.series
        var (epochs, lost) = (standing.epochs, [Int64]())
        for (start, sealed) in standing.closed.sorted(by: { $0.key < $1.key }) where !replacing {
            do throws(CryptoError) {
                let secret = try EpochSecret(sealed: sealed, of: series, from: start, by: keys)
                statements.append(EpochStatements.open(series, start, secret))
                result.opened += 1
            } catch .damaged {
                // Its codes are lost; a new epoch in its place is better than none.
                log.with("series", series.rawValue).error(
                    "the secret of an epoch is damaged, and is replaced")
                lost.append(start)
            }
        }
        let plan: RotationPlan
        if replacing {
            plan = RotationPlan(
                replacing: epochs, now: standing.now, period: standing.period,
                ahead: standing.ahead)
        } else {
            epochs.removeAll { lost.contains($0.start) }
            plan = RotationPlan(
                epochs, now: standing.now, period: standing.period, ahead: standing.ahead)
        }
        let destroyed = plan.destroyed + lost
        if !destroyed.isEmpty { statements += EpochStatements.destroy(series, destroyed) }
        if let prolonged = plan.prolonged {
            statements += EpochStatements.prolong(series, prolonged)
        }
        for epoch in plan.made {
            let secret = try EpochSecret()
            let sealed = try secret.sealed(of: series, from: epoch.start, by: keys)
            statements.append(EpochStatements.insert(series, epoch, sealed))
            statements.append(EpochStatements.open(series, epoch.start, secret))
        }
        result.made += plan.made.count
        result.destroyed += destroyed.count
    }
}

/// Rotates the codes of coupons: see ``Rotation``.
package struct RotateCodes: Job {
    package static let kind = "coupons.rotate"
    /// The next run does its work too.
    package static let options = JobOptions(
        queue: "coupons", priority: .critical, maxAttempts: 5,
        backoff: Backoff(base: 2, ceiling: 20), timeout: .seconds(60), retention: .seconds(3_600))

    package init() {}

    /// Twice a minute, whatever the periods are: there are enough epochs for many runs.
    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 30s", run: RotateCodes(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
