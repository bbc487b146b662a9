import CSystem
import Crypto
import Errand
import HTTP
import Jobs
import Logging
import Metrics
import Postgres
import Queues
import Redis
import Terminal

struct Greet: Job {
    static let kind = "greet"
}

var kinds = JobKinds()
kinds.handle(Greet.self) { _, _ in }
let schedule = try Schedule("hourly", "@hourly", run: Greet(), gap: .shift)
print(CryptoMark.self, other_system(), kinds.names, schedule.name)
