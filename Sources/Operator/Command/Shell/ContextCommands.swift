import ErrandTerminal

/// `errand context …`: the named sets of servers of this user.
enum ContextCommands {
    static let all = [list, show, use]

    private static let name = Argument.required(
        ValueFormat.text("NAME"), help: "The context's name")
    private static let optionalName = Argument<String?>.optional(
        ValueFormat.text("NAME"), help: "The context's name (default: the one in use)")

    private static let list = Command(
        "context", "ls", effect: .read, summary: "List the contexts and the current one",
        discussion: """
            Contexts are read from $XDG_CONFIG_HOME/errand/contexts.json or \
            ~/.config/errand/contexts.json, for example:

            {"current": "staging", "contexts": {"staging": {"operator": "Ada", …}, "prod": {…}}}

            "current" is the default if neither --context nor ERRAND_CONTEXT names a context. \
            A context has any of: "database_url", "redis_url" and "operator" (strings), \
            "production" and "read_only" (true or false), "color" ("auto", "always" or "never").

            "production": true asks for the context's name before any change; --yes skips the \
            question.

            Options override the environment, and the environment overrides the file. Exception: \
            the URLs of a context given by --context override the environment's.
            """,
        examples: [.init("errand context ls", "all contexts")]
    ) { invocation in
        let contexts = invocation.contexts
        try invocation.output.list(
            (contexts.file?.contexts ?? []).map { record($0, contexts.current) },
            columns: [
                Column("name"), Column("current"), Column("production"), Column("read_only"),
                Column("operator"), Column("database_url", isFlexible: true),
            ], empty: "no contexts: \(contexts.path ?? "contexts.json") has none")
        return .done
    }

    private static let show = Command(
        "context", "show", effect: .read, summary: "Show a context, without its passwords",
        examples: [.init("errand context show", "the servers that commands use")],
        arguments: [optionalName]
    ) { invocation in
        let contexts = invocation.contexts
        guard let name = invocation[optionalName] ?? contexts.current?.name else {
            throw CommandFailure(
                exit: .notFound, message: "no context is in use",
                hint: "'errand context ls' lists the contexts")
        }
        let context = try found(name, contexts)
        var record = record(context, contexts.current)
        if context.name == contexts.current?.name { addServers(to: &record, invocation) }
        try invocation.output.show(record)
        return .done
    }

    private static let use = Command(
        "context", "use", effect: .configure, summary: "Set the current context",
        discussion: "Writes \"current\" to contexts.json and keeps the rest of the file.",
        examples: [.init("errand context use staging", "make staging the default")],
        arguments: [name]
    ) { invocation in
        let context = try found(invocation[name], invocation.contexts)
        try invocation.contexts.use(context.name)
        try invocation.output.show(record(context, context))
        for (variable, own) in [
            ("DATABASE_URL", context.databaseURL), ("REDIS_URL", context.redisURL),
        ] {
            guard let own, let url = invocation.contexts.given[variable], url != own else {
                continue
            }
            invocation.output.warn(
                "\(variable) (\(SecretURL.place(url))) in the environment overrides it, unless "
                    + "'--context \(context.name)' is given")
        }
        if let variable = invocation.environment["ERRAND_CONTEXT"], !variable.isEmpty {
            invocation.output.warn("ERRAND_CONTEXT=\(variable) overrides it")
        }
        return .done
    }

    /// Adds the servers that commands use, and the source of each address.
    private static func addServers(to record: inout Record, _ invocation: Invocation) {
        for (name, option) in [
            ("database", GlobalOptions.databaseURL), ("redis", GlobalOptions.redisURL),
        ] {
            let url = invocation[option].map(SecretURL.hidden)
            record.append("\(name)_in_use", .optional(url) { .text($0) })
            record.append(
                "\(name)_from", .optional(invocation.source(of: option)) { .text($0) })
        }
    }

    private static func found(
        _ name: String, _ contexts: ResolvedContexts
    ) throws(CommandFailure) -> NamedContext {
        guard let context = contexts.file?[name] else {
            let failure = ResolvedContexts.unknown(name, contexts.file)
            throw CommandFailure(exit: .notFound, message: failure.message, hint: failure.hint)
        }
        return context
    }

    private static func record(_ context: NamedContext, _ current: NamedContext?) -> Record {
        Record([
            ("name", .text(context.name)), ("current", .flag(context.name == current?.name)),
            ("production", .flag(context.isProduction)),
            ("read_only", .flag(context.isReadOnly ?? false)),
            ("operator", .optional(context.operatorName) { .text($0) }),
            ("database_url", .optional(context.databaseURL) { .text(SecretURL.hidden($0)) }),
            ("redis_url", .optional(context.redisURL) { .text(SecretURL.hidden($0)) }),
            ("color", .optional(context.color) { .text($0.rawValue) }),
        ])
    }
}
