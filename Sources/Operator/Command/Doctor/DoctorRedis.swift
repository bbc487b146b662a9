import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// What the doctor has found of Redis.
struct DoctorRedis: Sendable {
    private let address: RedisAddress?
    private let answer: Result<RedisLook, any Error>

    init(_ invocation: Invocation) async {
        address = try? invocation.redisAddress()
        do {
            answer = .success(try await RedisLook.look(at: try invocation.redisAddress()))
        } catch {
            answer = .failure(error)
        }
    }

    var clockLead: Duration? { try? answer.get().clockLead }

    var status: RedisStatus {
        switch answer {
        case .success(let look): .reachable(look)
        case .failure(let error): .unreachable("\(error)")
        }
    }

    func findings(of database: DoctorDatabase, _ servers: ServerLines) async -> [Finding] {
        switch answer {
        case .failure(let error): return [DoctorCommand.failed("redis", error)]
        case .success(let look):
            var eviction = StatusFindings.eviction(look, servers)
            for place in eviction.indices { eviction[place].check = "redis memory" }
            if eviction.isEmpty {
                let limit = look.limitBytes > 0 ? HumanFormat.bytes(look.limitBytes) : "no limit"
                eviction = [
                    Finding(
                        check: "redis memory", grade: .ok,
                        found: "\(HumanFormat.bytes(look.usedBytes)) used, \(limit), \(look.policy)"
                    )
                ]
            }
            return [version(look)] + eviction + (await staging(database))
        }
    }

    private func version(_ look: RedisLook) -> Finding {
        // One that does not tell its version lets itself be used all the same.
        let major = Int(look.version.prefix { $0 != "." }) ?? 7
        return Finding(
            check: "redis", grade: major >= 7 ? .ok : .critical,
            found: look.version + (look.masterPlace.map { ", the master is \($0)" } ?? ""),
            remedy: major >= 7
                ? nil : "apt-get install --only-upgrade redis-server  # 7 or newer, for BZMPOP")
    }

    /// Only a feeder that leads has anything staged.
    private func staging(_ database: DoctorDatabase) async -> [Finding] {
        guard let address, let session = database.session,
            let leader = database.status?.leaders?.first(where: { $0.lead == .duties }),
            leader.isAlive == true,
            leader.takenAt.map({ database.now.durationSince($0) > .seconds(3) }) ?? false
        else { return [] }
        do {
            guard try await Inspector(session: session).hasLostStaging(address) else {
                return [Finding(check: "staging", grade: .ok, found: "Redis has what was staged")]
            }
        } catch {
            return [DoctorCommand.failed("staging", error)]
        }
        return [
            Finding(
                check: "staging", grade: .critical,
                found: "Redis has lost what was staged, and the feeder has not noticed",
                remedy: "errand redis rebuild --yes")
        ]
    }
}
