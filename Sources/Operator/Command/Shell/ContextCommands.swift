import ErrandTerminal

/// `errand context …`: the named sets of servers of this user.
enum ContextCommands {
    static let all = [list, show, use]

    private static let name = Argument.required(
        ValueFormat.text("NAME"), help: "The context's name")
    private static let optionalName = Argument<String?>.optional(
        ValueFormat.text("NAME"), help: "The context's name (default: the one in use)")

    private static let list = Command(
        "context", "ls", effect: .looks, summary: "List the contexts and which is in use",
        discussion: """
            They stand in $XDG_CONFIG_HOME/errand/contexts.json or ~/.config/errand/contexts.json, \
            such as:

            {"current": "staging", "contexts": {"staging": {"operator": "Ada", …}, "prod": {…}}}

            "current" is the one that is used when neither --context nor ERRAND_CONTEXT names one. \
            A context has any of: "database_url", "redis_url" and "operator" (texts), \
            "production" and "read_only" (true or false), "color" ("auto", "always" or "never").

            "production": true asks for the context's name before any change, or takes --yes.

            Options win over the environment, which wins over the file; but the URLs of a context \
            that is named by --context win over the environment's.
            """,
        examples: [.init("errand context ls", "which are there")]
    ) { invocation in
        let contexts = invocation.contexts
        try invocation.output.list(
            (contexts.file?.contexts ?? []).map { record($0, contexts.current) },
            columns: [
                Column("name"), Column("current"), Column("production"), Column("read_only"),
                Column("operator"), Column("database_url", isFlexible: true),
            ], empty: "there are none: \(contexts.path ?? "contexts.json") would hold them")
        return .done
    }

    private static let show = Command(
        "context", "show", effect: .looks, summary: "Show a context, without its passwords",
        examples: [.init("errand context show", "which servers a command would use")],
        arguments: [optionalName]
    ) { invocation in
        let contexts = invocation.contexts
        guard let name = invocation[optionalName] ?? contexts.current?.name else {
            throw CommandFailure(
                exit: .notFound, message: "no context is in use",
                hint: "'errand context ls' lists what there is")
        }
        let context = try found(name, contexts)
        var record = record(context, contexts.current)
        if context.name == contexts.current?.name { addServers(to: &record, invocation) }
        try invocation.output.show(record)
        return .done
    }

    private static let use = Command(
        "context", "use", effect: .configures, summary: "Use a context from now on",
        discussion: "Writes \"current\" into contexts.json; the rest of it stays as it is.",
        examples: [.init("errand context use staging", "for all commands that name no other")],
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
                "\(variable) (\(SecretURL.place(url))) of the environment wins over it, unless "
                    + "'--context \(context.name)' names it")
        }
        if let variable = invocation.environment["ERRAND_CONTEXT"], !variable.isEmpty {
            invocation.output.warn("ERRAND_CONTEXT=\(variable) wins over it")
        }
        return .done
    }

    /// Which servers commands use, and what says so.
    private static func addServers(to record: inout Record, _ invocation: Invocation) {
        for (name, option) in [
            ("database", GlobalOptions.databaseURL), ("redis", GlobalOptions.redisURL),
        ] {
            let url = invocation[option].map(SecretURL.hidden)
            record.append("\(name)_in_force", .optional(url) { .text($0) })
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
