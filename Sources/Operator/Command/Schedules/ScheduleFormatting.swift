import Errand
import ErrandPostgres
package import ErrandRecurrence
import ErrandTerminal

/// Parses the recurrences and time zones of command lines, and describes their errors.
package enum ScheduleFormatting {
    package static let name = Argument.required(
        ValueFormat.text("NAME"), help: "The schedule's name")

    /// Any text, so that the parser of expressions reports even an empty one.
    package static func expression(_ placeholder: String) -> ValueFormat<String> {
        ValueFormat(placeholder, expected: "an expression") { $0 }
    }

    package static let expressionHelp =
        "Minute hour day-of-month month weekday, in quotes; a sixth field before them is seconds; "
        + "also @daily and @every 90s"

    /// Parses an expression.
    package static func recurrence(_ text: String) throws(CommandFailure) -> Recurrence {
        do {
            return try Recurrence(text)
        } catch {
            throw malformed(text, error)
        }
    }

    package static func malformed(_ text: String, _ error: RecurrenceError) -> CommandFailure {
        let meant = (try? Recurrence("@" + text)) == nil ? "" : "did you mean @\(text)? "
        return CommandFailure(
            exit: .usage, message: "'\(text)': \(error)",
            hint: meant
                + "fields: minute hour day-of-month month weekday, such as '30 9 * * MON-FRI'; or "
                + "@daily, @every 90s; 'errand schedule next' shows the times")
    }

    /// The time zone that an option names.
    package static func zone(
        _ name: String, in zones: ZoneDatabase, by option: String = "--tz"
    ) throws(CommandFailure) -> Zone {
        do {
            return try zones.zone(named: name)
        } catch {
            throw describe(zone: error, option)
        }
    }

    package static func describe(zone error: ZoneError, _ option: String = "--tz") -> CommandFailure
    {
        switch error {
        case .noDatabase, .unreadable, .malformed:
            CommandFailure(
                exit: .failed, message: "\(error)",
                hint: "'errand doctor' shows details; UTC always works")
        default:
            CommandFailure(
                exit: .usage, message: "\(option): \(error)",
                hint: "use a name of the IANA time zone database, such as Europe/Berlin or UTC")
        }
    }

    /// The error for a schedule that does not exist.
    package static func unknown(_ name: String, _ schedules: Schedules) async throws
        -> CommandFailure
    {
        let known = try await schedules.names()
        let guess = nearest(to: name, among: known).map { "did you mean \($0)? " } ?? ""
        return CommandFailure(
            exit: .notFound, message: "there is no schedule \(name)",
            hint: known.isEmpty
                ? "there are no schedules; 'errand schedule add' adds one"
                : guess + "'errand schedule ls' lists them")
    }
}

extension Invocation {
    /// The time zones of this machine.
    package var zones: ZoneDatabase { ZoneDatabase(environment: environment) }

    /// The schedules of the database.
    package func schedules() throws -> Schedules { Schedules(session: try session(), zones: zones) }
}

extension Schedules {
    /// The schedule with a name; throws if there is none.
    package func one(_ name: String) async throws -> Listing {
        guard let found = try await list(named: name).first else {
            throw try await ScheduleFormatting.unknown(name, self)
        }
        return found
    }
}
