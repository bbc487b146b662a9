import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// The doctor's checks of Redis.
struct DoctorRedis: Sendable {
    private let address: RedisAddress?
    private let answer: Result<RedisInfo, any Error>

    init(_ invocation: Invocation) async {
        address = try? invocation.redisAddress()
        do {
            answer = .success(try await RedisInfo.read(from: try invocation.redisAddress()))
        } catch {
            answer = .failure(error)
        }
    }

    var clockSkew: Duration? { try? answer.get().clockSkew }

    var status: RedisStatus {
        switch answer {
        case .success(let info): .reachable(info)
        case .failure(let error): .unreachable("\(error)")
        }
    }

    func findings(of database: DoctorDatabase, _ servers: ServerLines) async -> [Finding] {
        switch answer {
        case .failure(let error): return [DoctorCommand.failed("redis", error)]
        case .success(let info):
            var eviction = StatusFindings.eviction(info, servers)
            for place in eviction.indices { eviction[place].check = "redis memory" }
            if eviction.isEmpty {
                let limit = info.limitBytes > 0 ? HumanFormat.bytes(info.limitBytes) : "no limit"
                eviction = [
                    Finding(
                        check: "redis memory", severity: .ok,
                        message: "\(HumanFormat.bytes(info.usedBytes)) used, \(limit), "
                            + info.policy)
                ]
            }
            return [version(info)] + eviction + (await keys(database)) + (await staging(database))
        }
    }

    private func version(_ info: RedisInfo) -> Finding {
        // A server that hides its version is usable nevertheless.
        let major = Int(info.version.prefix { $0 != "." }) ?? 7
        return Finding(
            check: "redis", severity: major >= 7 ? .ok : .critical,
            message: info.version + (info.masterPlace.map { ", the master is \($0)" } ?? ""),
            remedy: major >= 7
                ? nil : "apt-get install --only-upgrade redis-server  # 7 or newer, for BZMPOP")
    }

    private func keys(_ database: DoctorDatabase) async -> [Finding] {
        guard let address, let session = database.session else { return [] }
        return await RedisKeyFindings.findings(address, session)
    }

    /// Checks for lost staging, unless no feeder is active: then nothing is staged.
    private func staging(_ database: DoctorDatabase) async -> [Finding] {
        guard let address, let session = database.session,
            let leader = database.status?.leaders?.first(where: { $0.role == .feeder }),
            leader.isAlive == true,
            leader.takenAt.map({ database.now.durationSince($0) > .seconds(3) }) ?? false
        else { return [] }
        do {
            guard try await Inspector(session: session).hasLostStaging(address) else {
                let message = "Redis has the staged jobs"
                return [Finding(check: "staging", severity: .ok, message: message)]
            }
        } catch {
            return [DoctorCommand.failed("staging", error)]
        }
        return [
            Finding(
                check: "staging", severity: .critical,
                message: "Redis has lost the staged jobs, and the feeder has not noticed",
                remedy: "errand redis rebuild --yes")
        ]
    }
}
