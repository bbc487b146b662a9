import FoundationEssentials
import ErrandThreads

/// One run of a command with what its user set around it: read-only, a production context, a time
/// limit, repetition.
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
        let ending = await supervisor.run(within: limit) { [self] in
            guard let pause else { return try await invocation.command.run(invocation) }
            return try await Watch(invocation: invocation, program: program, pause: pause).run()
        }
        switch (ending.cause, ending.result) {
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
        if invocation[GlobalOptions.watch] != nil, effect != .looks {
            let reason = effect == .waits ? "goes on by itself" : "does not only look"
            throw .usage(
                "--watch repeats commands that only look: '\(command.name)' \(reason)",
                hint: "leave --watch out")
        }
        if invocation[GlobalOptions.commandTimeout] != nil, effect == .starts {
            throw .usage(
                "'\(command.name)' runs until told to stop: --command-timeout is not for it",
                hint: "stop it with SIGTERM, as 'timeout --preserve-status 1h errand work' does")
        }
    }

    private func checkPermission() throws(CommandFailure) {
        guard invocation.isChange else { return }
        let name = invocation.command.name
        guard !invocation[GlobalOptions.readOnly] else {
            throw CommandFailure(
                exit: .refused, message: "'\(name)' changes something, and this is read-only",
                hint: "leave --read-only out, and see that neither ERRAND_READ_ONLY nor the "
                    + "context sets it")
        }
        tellOverruled()
        guard let context = invocation.contexts.current, context.isProduction,
            !invocation[GlobalOptions.yes]
        else { return }
        try invocation.output.confirm(
            production: context.name, command: name,
            place: invocation[GlobalOptions.databaseURL].map(SecretURL.place))
    }

    /// Says which servers a change goes to when the environment names others than the context.
    private func tellOverruled() {
        guard let context = invocation.contexts.current else { return }
        let winning = invocation.overruling
        guard !winning.isEmpty else { return }
        let servers = winning.map { "\($0.variable) (\(SecretURL.place($0.url)))" }
        invocation.output.note(
            "\(servers.joined(separator: " and ")) of the environment "
                + "win\(servers.count == 1 ? "s" : "") over the context \(context.name); "
                + "'--context \(context.name)' would take its own")
    }

    private func late(_ error: (any Error)?, _ limit: Duration?) -> CommandFailure {
        let length = HumanFormat.notation(limit ?? .zero)
        let message = "the command was ended after \(length), as --command-timeout says"
        // What a command says of itself tells how to go on; a cancelled statement tells nothing.
        if let failure = error as? CommandFailure {
            return CommandFailure(
                exit: .timedOut, message: "\(message); \(failure.message)", hint: failure.hint)
        }
        let hint =
            error == nil
            ? "it did not answer, and was left to itself; 'errand doctor' shows what is wrong"
            : "its statements were cancelled on the server too; give it longer, or see with "
                + "'errand doctor' what holds it up"
        return CommandFailure(exit: .timedOut, message: message, hint: hint)
    }
}
