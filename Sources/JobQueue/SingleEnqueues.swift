import Postgres
import Synchronization

/// Lets enqueues of single jobs that are made at the same time share a statement and a commit.
///
/// Nothing is held back: the first goes at once, and what arrives while it is under way goes
/// together in the next. One job that PostgreSQL refuses does not take the others with it.
final class SingleEnqueues: Sendable {
    private struct Pending: Sendable {
        var args: [UInt8]
        var runAt: Instant?
        var reply: CheckedContinuation<Enqueued, any Error>
    }

    private struct State {
        var waiting: [EnqueueShape: [Pending]] = [:]
        var running: Set<EnqueueShape> = []
    }

    private static let batchLimit = 1_000

    private let pool: Pool
    private let state = Mutex(State())

    init(pool: Pool) { self.pool = pool }

    func enqueue(
        _ args: [UInt8], at runAt: Instant?, shape: EnqueueShape
    ) async throws -> Enqueued {
        try await withCheckedThrowingContinuation { reply in
            let mustStart = state.withLock { state in
                state.waiting[shape, default: []].append(
                    Pending(args: args, runAt: runAt, reply: reply))
                return state.running.insert(shape).inserted
            }
            // The commit serves several callers, so it belongs to none of their tasks.
            if mustStart { Task { await self.run(shape) } }
        }
    }

    private func run(_ shape: EnqueueShape) async {
        while let batch = next(shape) {
            do {
                let made = try await insert(batch, shape)
                for (pending, job) in zip(batch, made) { pending.reply.resume(returning: job) }
            } catch PostgresError.server(let error) where batch.count > 1 && !error.isTransient {
                for pending in batch { await insertAlone(pending, shape) }
            } catch {
                for pending in batch { pending.reply.resume(throwing: error) }
            }
        }
    }

    private func next(_ shape: EnqueueShape) -> [Pending]? {
        state.withLock { state in
            guard let waiting = state.waiting[shape], !waiting.isEmpty else {
                state.waiting[shape] = nil
                state.running.remove(shape)
                return nil
            }
            state.waiting[shape] = Array(waiting.dropFirst(Self.batchLimit))
            return Array(waiting.prefix(Self.batchLimit))
        }
    }

    private func insertAlone(_ pending: Pending, _ shape: EnqueueShape) async {
        do {
            pending.reply.resume(returning: try await insert([pending], shape)[0])
        } catch {
            pending.reply.resume(throwing: error)
        }
    }

    private func insert(_ batch: [Pending], _ shape: EnqueueShape) async throws -> [Enqueued] {
        let times = batch.contains { $0.runAt != nil } ? batch.map(\.runAt) : nil
        let statement = EnqueueStatement.make(batch.map(\.args), times: times, shape: shape)
        return try await pool.withSession { try EnqueueStatement.read(await $0.query(statement)) }
    }
}
