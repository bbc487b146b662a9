import FoundationEssentials
import Glibc
import ErrandTerminal

let environment = ProcessInfo.processInfo.environment
let program = Program(
    name: "errand", version: Build.version,
    summary: "A job queue on PostgreSQL and Redis: its worker and its tools",
    nounSummaries: [
        "migrate": "Bring the database's schema up to date",
        "job": "Look at jobs, say why they do not run, and act on them",
        "dead": "Look at dead letters, let them run again or delete them",
        "coupon": "Look at coupons, show and check their codes, redeem, grant and void them",
        "reward": "See what people have earned, and when it is paid",
        "payout": "Close quarters, approve and issue what people are paid, take back what returns",
        "mission": "See missions, find the best shoppers for them, offer, withdraw and review",
        "shopper": "See who is sent on missions; hire, refuse and suspend",
        "vote": "See votes and their results, decide about equal names, verify receipts",
        "household": "See groups of room-mates: debts, chores, what happened; remind of debts",
        "ledger": "See what accounts hold and how it came about, undo and prove",
        "notification": "Look at notices, say why people are told or not, and preview their words",
        "webhook": "Send events to other people's servers: add, try, look at and change endpoints",
        "op": "Look at bulk operations, cancel and resume them",
        "audit": "See what operators changed",
        "kind": "Look at the kinds of job: how often they fail, how long they take",
        "queue": "Look at queues, pause, resume, limit, drain and purge them",
        "schedule": "Make jobs by the clock: add, change, pause and run schedules",
        "worker": "Look at the worker processes, let them be quiet or stop",
        "db": "See how the database is and what bloats it, make missing partitions",
        "redis": "Compare Redis with PostgreSQL, and fill it anew",
        "key": "Make and list the keys that seal secrets in the database, and change them",
        "leader": "See who leads, and let another one take over",
        "context": "Name sets of servers, and use one of them",
    ],
    commands: MigrateCommands.all + WorkCommand.all + EnqueueCommand.all + JobCommands.all
        + DeadCommands.all + CouponCommands.all + RewardCommands.all + PayoutCommands.all
        + VoteCommands.all + MissionCommands.all + ShopperCommands.all + HouseholdCommands.all
        + LedgerCommands.all + NotificationCommands.all
        + WebhookCommands.all
        + OperationCommands.all + AuditCommands.all + QueueCommands.all + KindCommands.all
        + ScheduleCommands.all + WorkerCommands.all
        + LeaderCommands.all + RedisCommands.all + DatabaseCommands.all + KeyCommands.all
        + StatusCommand.all + TopCommand.all + DoctorCommand.all + ContextCommands.all
        + ShellCommands.all,
    localTimes: LocalZone.times, describe: describe)
let exitCode = await program.run(
    Array(CommandLine.arguments.dropFirst()), environment: environment,
    screen: Screen.standard(environment: environment))
// Not exit(): what it tears down, such as OpenSSL, a thread that still connects may be using.
_exit(exitCode.rawValue)
