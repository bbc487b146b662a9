import FoundationEssentials
import ErrandThreads

/// One run of a command, subject to `--read-only`, a production context, `--command-timeout` and
/// `--watch`.
struct Execution {
    let invocation: Invocation
    let program: Program

    func run() async throws -> ExitCode {
        try checkMeaning()
        try checkPermission()
        let limit = invocation[GlobalOptions.commandTimeout]
        let pause = invocation[GlobalOptions.watch]
        guard limit != nil || pause != nil else {
            return try await invocation.command.run(invocation)
        }
        let supervisor = Supervisor(invocation.interruption)
        if pause != nil { Termination.onRequest { supervisor.stop(.signal) } }
        let end = await supervisor.run(within: limit) { [self] in
            guard let pause else { return try await invocation.command.run(invocation) }
            return try await Watch(invocation: invocation, program: program, pause: pause).run()
        }
        switch (end.cause, end.result) {
        case (.signal, _): return .done
        case (.timeout, .success(let code)?) where pause == nil: return code
        case (.timeout, .success?): throw late(CancellationError(), limit)
        case (.timeout, .failure(let error)?): throw late(error, limit)
        case (.timeout, nil): throw late(nil, limit)
        case (nil, let result): return try result?.get() ?? .failed
        }
    }

    private func checkMeaning() throws(CommandFailure) {
        let (command, effect) = (invocation.command, invocation.command.effect)
        if invocation[GlobalOptions.watch] != nil, effect != .read {
            let reason = effect == .follow ? "keeps running on its own" : "makes changes"
            throw .usage(
                "--watch repeats read-only commands: '\(command.name)' \(reason)",
                hint: "omit --watch")
        }
        if invocation[GlobalOptions.commandTimeout] != nil, effect == .run {
            throw .usage(
                "'\(command.name)' runs until it is stopped: --command-timeout does not apply",
                hint: "stop it with SIGTERM, as 'timeout --preserve-status 1h errand work' does")
        }
    }

    private func checkPermission() throws(CommandFailure) {
        guard invocation.isChange else { return }
        let name = invocation.command.name
        guard !invocation[GlobalOptions.readOnly] else {
            throw CommandFailure(
                exit: .refused, message: "read-only mode: '\(name)' makes changes",
                hint: "omit --read-only, and check that neither ERRAND_READ_ONLY nor the "
                    + "context sets it")
        }
        noteOverrides()
        guard let context = invocation.contexts.current, context.isProduction,
            !invocation[GlobalOptions.yes]
        else { return }
        try invocation.output.confirm(
            production: context.name, command: name,
            place: invocation[GlobalOptions.databaseURL].map(SecretURL.place))
    }

    /// Notes the servers that a change uses if the environment overrides the context's.
    private func noteOverrides() {
        guard let context = invocation.contexts.current else { return }
        let winning = invocation.overriding
        guard !winning.isEmpty else { return }
        let servers = winning.map { "\($0.variable) (\(SecretURL.place($0.url)))" }
        invocation.output.note(
            "\(servers.joined(separator: " and ")) in the environment "
                + "override\(servers.count == 1 ? "s" : "") the context \(context.name); "
                + "'--context \(context.name)' uses the context's own")
    }

    private func late(_ error: (any Error)?, _ limit: Duration?) -> CommandFailure {
        let length = HumanFormat.notation(limit ?? .zero)
        let message = "timed out after \(length) (--command-timeout)"
        // The error of a command has a hint on how to continue; a cancelled statement has none.
        if let failure = error as? CommandFailure {
            return CommandFailure(
                exit: .timedOut, message: "\(message); \(failure.message)", hint: failure.hint)
        }
        let hint =
            error == nil
            ? "the command did not respond to its cancellation; 'errand doctor' checks the servers"
            : "its statements were cancelled on the server too; increase the timeout, or find "
                + "the cause with 'errand doctor'"
        return CommandFailure(exit: .timedOut, message: message, hint: hint)
    }
}
