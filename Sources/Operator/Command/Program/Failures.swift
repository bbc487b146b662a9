import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// Returns the exit code, message and next step for an error; nil if only its module knows it.
///
/// The one place where errors of servers become exit codes. A server that is away is
/// `.unreachable`, at the start of a command as in the middle of it: scripts may try again.
@Sendable func describe(_ error: any Error) -> CommandFailure? {
    switch error {
    case let error as PostgresError: describe(postgres: error)
    case let error as RedisError: describe(redis: error)
    case let error as JobError:
        CommandFailure(exit: exitCode(error), message: "\(error)")
    case let error as MigrationError:
        describe(migration: error)
    default: nil
    }
}

private func describe(migration error: MigrationError) -> CommandFailure {
    switch error {
    case .failed(_, _, let cause):
        let failure = describe(postgres: cause)
        return CommandFailure(
            exit: failure.exit, message: "\(error)",
            hint: failure.hint ?? "fix the cause and run 'errand migrate' again")
    case .endedTransaction:
        return CommandFailure(exit: .failed, message: "\(error)")
    case .unknownModule, .missingModule, .cycle, .nameTaken:
        return CommandFailure(exit: .usage, message: "\(error)")
    case .behind:
        return CommandFailure(
            exit: .refused, message: "\(error)", hint: "run 'errand migrate' first")
    case .notInstalled(let module):
        return CommandFailure(
            exit: .refused, message: "\(error)",
            hint: module == MigrationLine.engine.module
                ? "run 'errand migrate' first" : "errand migrate --modules \(module)")
    case .changed, .unknown, .earlierLayout, .locked:
        return CommandFailure(exit: .conflict, message: "\(error)")
    }
}

private func exitCode(_ error: JobError) -> ExitCode {
    switch error {
    case .argumentsTooLarge: .refused
    case .invalid: .usage
    case .claimLost, .timedOut: .failed
    }
}

private func describe(postgres error: PostgresError) -> CommandFailure {
    switch error {
    case .unreachable(let text):
        return CommandFailure(
            exit: .unreachable, message: "PostgreSQL cannot be reached: \(text)",
            hint: "check --database-url (DATABASE_URL); 'errand doctor' shows details")
    case .server(let server) where server.isOfUnavailableServer:
        return CommandFailure(
            exit: .unreachable, message: "PostgreSQL is not available: \(error)",
            hint: "it may be starting up or shutting down: try again; 'errand doctor' shows details"
        )
    case .server(let server):
        switch server.sqlState {
        case "RU001":
            return CommandFailure(exit: .refused, message: server.message, hint: server.hint)
        case "RU002":
            return CommandFailure(
                exit: .failed, message: server.message, hint: server.hint ?? "try again")
        case "3F000", "42P01", "42883":
            return CommandFailure(
                exit: .refused,
                message: "Errand's schema in this database is incomplete: \(server.message)",
                hint: "run 'errand migrate' first; 'errand migrate status' shows what is pending")
        case "2201B":
            return CommandFailure(
                exit: .usage, message: "invalid regular expression: \(server.message)",
                hint: "without '~', --error searches for the literal text")
        case "53300":
            return CommandFailure(
                exit: .unreachable, message: "PostgreSQL accepts no more connections: \(error)",
                hint: "a worker needs 1 connection, and by default up to 8; 'errand db status' and "
                    + "'errand doctor' work as a superuser, for whom some are reserved")
        case "3D000", "28P01", "28000":
            return CommandFailure(
                exit: .unreachable, message: "PostgreSQL refused the connection: \(error)",
                hint: "check --database-url (DATABASE_URL)")
        case "25006":
            return CommandFailure(
                exit: .refused, message: "the database is read-only: \(server.message)",
                hint:
                    "unset --read-only and ERRAND_READ_ONLY, or name the primary in "
                    + "--database-url (DATABASE_URL), or several hosts with "
                    + "target_session_attrs=read-write")
        case "42501":
            return CommandFailure(
                exit: .refused, message: server.message,
                hint: "'errand doctor' lists missing privileges; GRANT them, or use another role")
        case "54000":
            return CommandFailure(
                exit: .refused, message: server.message,
                hint: server.hint ?? "it exceeds a limit of PostgreSQL; make it smaller")
        case "57014", "55P03":
            return CommandFailure(
                exit: .timedOut, message: "PostgreSQL timed out: \(server.message)",
                hint: "try again; 'errand doctor' shows transactions that block others")
        case "53100":
            return CommandFailure(
                exit: .failed, message: "PostgreSQL's disk is full: \(error)",
                hint: "nothing was written; free disk space on the server and try again")
        default: return CommandFailure(exit: .failed, message: "\(error)")
        }
    case .usage:
        return CommandFailure(
            exit: .usage, message: "\(error)", hint: "check --database-url (DATABASE_URL)")
    case .decoding:
        return CommandFailure(exit: .failed, message: "\(error)")
    }
}

private func describe(redis error: RedisError) -> CommandFailure {
    switch error {
    case .server where error.isOfUnavailableServer:
        CommandFailure(
            exit: .unreachable, message: "Redis is not available: \(error)",
            hint: "it may be starting up or failing over: try again; 'errand doctor' shows details")
    case .unreachable, .refused:
        CommandFailure(
            exit: .unreachable, message: "Redis is not available: \(error)",
            hint: "check --redis-url (REDIS_URL); 'errand doctor' shows details")
    case .usage:
        CommandFailure(
            exit: .usage, message: "\(error)", hint: "check --redis-url (REDIS_URL)")
    case .server:
        CommandFailure(exit: .failed, message: "\(error)")
    }
}
