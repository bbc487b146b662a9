import Errand
import ErrandPostgres
import ErrandRedis
import ErrandTerminal

/// Puts the errors of other modules into words for the command line, with what to do next.
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
            hint: failure.hint ?? "correct the cause and run 'errand migrate' again")
    case .endedTransaction:
        return CommandFailure(exit: .failed, message: "\(error)")
    case .unknownModule, .missingModule, .circle, .nameTaken:
        return CommandFailure(exit: .usage, message: "\(error)")
    case .behind:
        return CommandFailure(
            exit: .refused, message: "\(error)", hint: "run 'errand migrate' first")
    case .notInstalled(let module):
        return CommandFailure(
            exit: .refused, message: "\(error)",
            hint: module == MigrationLine.engine.module
                ? "run 'errand migrate' first" : "errand migrate --modules \(module)")
    case .changed, .unknown, .earlierLayout:
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
            hint: "check --database-url (DATABASE_URL); 'errand doctor' tells more")
    case .server(let server):
        switch server.sqlState {
        case "3F000", "42P01", "42883":
            return CommandFailure(
                exit: .refused, message: "the database lacks a part of Errand: \(server.message)",
                hint: "run 'errand migrate' first; 'errand migrate status' shows what is pending")
        case "2201B":
            return CommandFailure(
                exit: .usage, message: "that is no regular expression: \(server.message)",
                hint: "without '~', --error looks for the text as it is")
        case "3D000", "28P01", "28000", "53300":
            return CommandFailure(
                exit: .unreachable, message: "PostgreSQL refused the connection: \(error)",
                hint: "check --database-url (DATABASE_URL)")
        case "25006":
            return CommandFailure(
                exit: .refused, message: "the database can only be read: \(server.message)",
                hint:
                    "it may be --read-only or ERRAND_READ_ONLY; else name the primary in "
                    + "--database-url (DATABASE_URL), or several hosts with "
                    + "target_session_attrs=read-write")
        case "42501":
            return CommandFailure(
                exit: .refused, message: "this database user may not do that: \(server.message)",
                hint: "'errand doctor' names what is lacking; GRANT it, or use another user")
        case "54000":
            return CommandFailure(
                exit: .refused, message: server.message,
                hint: server.hint ?? "it is too large for PostgreSQL; make it smaller")
        case "57014", "55P03":
            return CommandFailure(
                exit: .timedOut, message: "PostgreSQL took too long: \(server.message)",
                hint: "try again; 'errand doctor' shows transactions that hold others up")
        case "53100":
            return CommandFailure(
                exit: .failed, message: "PostgreSQL's disk is full: \(error)",
                hint: "nothing was written; make room on the server and try again")
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
    case .unreachable, .refused:
        CommandFailure(
            exit: .unreachable, message: "Redis cannot be used: \(error)",
            hint: "check --redis-url (REDIS_URL); 'errand doctor' tells more")
    case .usage:
        CommandFailure(
            exit: .usage, message: "\(error)", hint: "check --redis-url (REDIS_URL)")
    case .server:
        CommandFailure(exit: .failed, message: "\(error)")
    }
}
