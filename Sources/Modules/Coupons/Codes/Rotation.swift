package import ErrandCrypto
package import Errand
package import ErrandPostgres

/// Rotates the codes of all coupons: creates secrets of future epochs and destroys expired ones.
///
/// The cost is independent of the number of coupons.
package struct Rotation: Sendable {
    private let keys: SealingKeys
    private let log: Log

    /// Creates a rotation that seals new secrets with `keys`.
    package init(sealing keys: SealingKeys, log: Log) {
        self.keys = keys
        self.log = log
    }

    /// The number of secrets that a rotation created, destroyed and reopened.
    package struct Result: Sendable, Equatable {
        package var made = 0
        package var destroyed = 0
        /// Secrets that PostgreSQL had lost in a crash.
        package var opened = 0
    }

    /// The settings and epochs of one series.
    private struct SeriesState: Sendable {
        var series: CodeSeries
        var period: Int64
        var ahead: Int
        var now: Int64
        var epochs: [Epoch] = []
        /// The sealed secrets that are not open, by the start of their epoch.
        var closed: [Int64: [UInt8]] = [:]
    }

    /// Rotates in one transaction; concurrent rotations wait for each other.
    ///
    /// Reopens the secrets after a crash of PostgreSQL. A worker without the key fails, so that a
    /// worker with the key reopens them; codes already shown stay valid.
    ///
    /// - Parameters:
    ///   - replacing: replaces all secrets, after a leak.
    ///   - now: overrides the database's clock; in seconds since 1970.
    /// - Throws: `CryptoError.unknownKey` when the key of a sealed secret is missing.
    @discardableResult
    package func run(
        in transaction: Transaction, replacing: Bool = false, now: Int64? = nil
    ) async throws -> Result {
        var result = Result()
        var statements: [Statement] = []
        for var current in try await read(in: transaction) {
            if let now { current.now = now }
            try add(current, replacing: replacing, to: &statements, &result)
        }
        try await transaction.pipeline(statements)
        return result
    }

    private func read(in transaction: Transaction) async throws -> [SeriesState] {
        // A separate statement reads the epochs, so that its snapshot follows the lock.
        let series = try await transaction.query(EpochStatements.lock, [])
        let epochs = try await transaction.query(EpochStatements.read, [])
        var all: [SeriesState] = []
        for row in series {
            guard let series = CodeSeries(rawValue: try row.text("series")) else { continue }
            var current = SeriesState(
                series: series, period: try row.int64("period"), ahead: Int(try row.int32("ahead")),
                now: try row.int64("now"))
            for row in epochs where try row.text("series") == series.rawValue {
                let epoch = Epoch(
                    start: try row.int64("start"), slot: try row.int16("slot"),
                    goodUntil: try row.int64("good_until"))
                current.epochs.append(epoch)
                if try !row.bool("is_open") {
                    current.closed[epoch.start] = try row.bytes("sealed")
                }
            }
            all.append(current)
        }
        return all
    }

    private func add(
        _ current: SeriesState, replacing: Bool, to statements: inout [Statement],
        _ result: inout Result
    ) throws(CryptoError) {
        let series = current.series
        var (epochs, lost) = (current.epochs, [Int64]())
        for (start, sealed) in current.closed.sorted(by: { $0.key < $1.key }) where !replacing {
            do throws(CryptoError) {
                let secret = try EpochSecret(sealed: sealed, of: series, from: start, by: keys)
                statements.append(EpochStatements.open(series, start, secret))
                result.opened += 1
            } catch .damaged {
                // Its codes are lost; a new epoch replaces it.
                log.with("series", series.rawValue).error(
                    "replaced a damaged secret of an epoch")
                lost.append(start)
            }
        }
        let plan: RotationPlan
        if replacing {
            plan = RotationPlan(
                replacing: epochs, now: current.now, period: current.period,
                ahead: current.ahead)
        } else {
            epochs.removeAll { lost.contains($0.start) }
            plan = RotationPlan(
                epochs, now: current.now, period: current.period, ahead: current.ahead)
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
    /// A failed run needs no more attempts: the next run does its work too.
    package static let options = JobOptions(
        queue: "coupons", priority: .critical, maxAttempts: 5,
        backoff: Backoff(base: 2, ceiling: 20), timeout: .seconds(60), retention: .seconds(3_600))

    package init() {}

    /// Runs twice a minute, whatever the periods: enough epochs are ready for many runs.
    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 30s", run: RotateCodes(), catchUp: .latest(within: .seconds(60)),
            overlap: .skip)
    }
}
