import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand account templates`, `set-template` and `rm-template`: where links lead.
enum AccountTemplateCommands {
    static let all = [templates, set, remove]

    private static let app = Argument.required(
        ValueFormat.line("APP", upTo: 40), help: "The app, such as survey")
    private static let kind = Argument.required(
        ValueFormat.choice(of: LinkKind.self, "KIND"), help: "reset or invitation")
    private static let template = Argument.required(
        ValueFormat.line("TEMPLATE", upTo: 1_000),
        help: "The link, with {token} in the place of the token")

    private static func changes(_ invocation: Invocation) throws -> AccountChanges {
        AccountChanges(session: try invocation.session(), actor: invocation.operatorName)
    }

    private static func records(_ invocation: Invocation) async throws -> [Record] {
        try await AccountRows(session: try invocation.session()).templates().map { template in
            Record([
                ("app", .text(template.app)), ("kind", .text(template.kind)),
                ("template", .text(template.template)), ("changed_at", template.changedAt.cell),
            ])
        }
    }

    private static let templates = Command(
        "account", "templates", effect: .read, summary: "List where the links of each app lead",
        examples: [.init("errand account templates", "one line per app and kind of link")]
    ) { invocation in
        try invocation.output.list(
            try await records(invocation),
            columns: [
                Column("app"), Column("kind"), Column("template", isFlexible: true),
                Column("changed_at"),
            ], empty: "no templates: 'errand help account set-template'")
        return .done
    }

    private static let set = Command(
        "account", "set-template", effect: .write,
        summary: "Set where the reset links or invitations of an app lead",
        discussion: """
            The link opens the app: an https link that the app claims, or one of its own scheme. \
            {token} stands for the token, once. Links that were sent keep their template.
            """,
        examples: [
            .init(
                "errand account set-template survey reset "
                    + "'https://survey.example.com/reset?token={token}'", "a universal link")
        ],
        options: [AuditOptions.reason], arguments: [app, kind, template]
    ) { invocation in
        let (app, kind, text) = (invocation[app], invocation[kind], invocation[template])
        let changes = try changes(invocation)
        guard try await changes.isKnown(app: app) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no app \(app)",
                hint: "install its module: 'errand migrate --modules …'")
        }
        guard
            try await changes.set(
                text, app: app, kind: kind, reason: invocation[AuditOptions.reason])
        else {
            throw CommandFailure(
                exit: .usage, message: "the template is invalid: \(text)",
                hint: "expected a link such as https://app.example.com/reset?token={token}, with "
                    + "{token} once, without a login, and by https or a scheme of the app")
        }
        try invocation.output.show(
            Record([
                ("app", .text(app)), ("kind", .text(kind.rawValue)), ("template", .text(text)),
            ]))
        return .done
    }

    private static let remove = Command(
        "account", "rm-template", effect: .write,
        summary: "Remove the template of an app: it can request no such links any more",
        examples: [.init("errand account rm-template survey invitation", "after confirmation")],
        options: [AuditOptions.reason], arguments: [app, kind]
    ) { invocation in
        let (app, kind) = (invocation[app], invocation[kind])
        try invocation.confirm("remove the template for \(kind.rawValue) links of \(app)?")
        guard
            try await changes(invocation).remove(
                app: app, kind: kind, reason: invocation[AuditOptions.reason])
        else {
            throw CommandFailure(
                exit: .notFound, message: "\(app) has no template for \(kind.rawValue) links",
                hint: "'errand account templates' lists the templates")
        }
        try invocation.output.show(
            Record([
                ("app", .text(app)), ("kind", .text(kind.rawValue)), ("result", .text("removed")),
            ]))
        return .done
    }
}
