import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand account …`: what was requested for accounts.
///
/// No command reveals a code or a link.
enum AccountCommands {
    static let all =
        [codes, resets, invitations, unlock] + AccountTemplateCommands.all

    // MARK: codes, resets, invitations

    private static let address = Option<String?>.value(
        "address", .line("ADDRESS", upTo: 254), help: "Only for this mail address")
    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "PERSON", help: "Only of this person")

    private static func filter(_ invocation: Invocation) -> AccountFilter {
        var filter = AccountFilter()
        filter.address = invocation[address]
        filter.person = invocation[person].map(Int64.init)
        filter.behind = invocation[PageOptions.cursor].map(Int64.init)
        filter.limit = invocation[PageOptions.limit]
        return filter
    }

    private static let codes = Command(
        "account", "codes", effect: .read, summary: "List requested codes, newest first",
        discussion: """
            Shows no code. They are deleted an hour after their expiry. Nothing was sent in two \
            states. no_account: no account has the address, or its person is to be erased or \
            under 16. not_sent: so it is with the address of a code to verify it, or the database \
            has crashed since the request.
            """,
        examples: [
            .init("errand account codes --address ann@example.org", "why she cannot sign in")
        ],
        options: [address, person, PageOptions.limit, PageOptions.cursor]
    ) { invocation in
        let filter = filter(invocation)
        let found = try await AccountRows(session: try invocation.session()).codes(filter)
        try invocation.output.list(
            found.map { code in
                Record([
                    ("id", .id(Int(code.id))), ("app", .text(code.app)),
                    ("purpose", .text(code.purpose)), ("address", .text(code.address)),
                    ("person", .optional(code.person) { .id(Int($0)) }),
                    ("state", .text(code.state)), ("wrong_tries", .int(code.tries)),
                    ("requested_at", code.requestedAt.cell),
                    ("sent_at", .optional(code.sentAt) { $0.cell }),
                    ("expires_at", code.expiresAt.cell),
                ])
            },
            columns: [
                Column("id"), Column("app"), Column("purpose"),
                Column("address", isFlexible: true), Column("person"), Column("state"),
                Column("wrong_tries"), Column("requested_at"),
            ], empty: "no codes match")
        PageOptions.printMore(invocation, count: found.count, last: found.last?.id)
        return .done
    }

    private static let resets = Command(
        "account", "resets", effect: .read, summary: "List requested reset links, newest first",
        discussion: """
            Shows no link. They are deleted a day after their use or expiry. State no_account: no \
            account has the address, or its person is to be erased or under 16, so that nothing \
            was sent.
            """,
        examples: [
            .init("errand account resets --person 42", "the links of the last day")
        ],
        options: [address, person, PageOptions.limit, PageOptions.cursor]
    ) { try await list(.reset, $0) }

    private static let invitations = Command(
        "account", "invitations", effect: .read, summary: "List invitations, newest first",
        discussion: """
            Shows no link. They are deleted a day after they were accepted or are over. State \
            not_sent: nothing was sent, as the inviter, or everybody with the address, is to be \
            erased or under 16, or an invitation of the same person was declined.
            """,
        examples: [
            .init("errand account invitations --person 42", "sent or accepted by this person")
        ],
        options: [address, person, PageOptions.limit, PageOptions.cursor]
    ) { try await list(.invitation, $0) }

    private static func list(_ kind: LinkKind, _ invocation: Invocation) async throws -> ExitCode {
        let found = try await AccountRows(session: try invocation.session())
            .links(kind, filter(invocation))
        try invocation.output.list(
            found.map { link in
                Record([
                    ("id", .id(Int(link.id))), ("app", .text(link.app)),
                    ("address", .text(link.address)),
                    ("inviter", .optional(link.inviter) { .id(Int($0)) }),
                    ("person", .optional(link.person) { .id(Int($0)) }),
                    ("state", .text(link.state)), ("requested_at", link.requestedAt.cell),
                    ("sent_at", .optional(link.sentAt) { $0.cell }),
                    ("reminded_at", .optional(link.remindedAt) { $0.cell }),
                    ("expires_at", link.expiresAt.cell),
                    ("ended_at", .optional(link.endedAt) { $0.cell }),
                ])
            },
            columns: [
                Column("id"), Column("app"), Column("address", isFlexible: true),
                Column(kind == .reset ? "person" : "inviter"), Column("state"),
                Column("requested_at"), Column("expires_at"),
            ], empty: kind == .reset ? "no reset links match" : "no invitations match")
        PageOptions.printMore(invocation, count: found.count, last: found.last?.id)
        return .done
    }

    // MARK: unlock

    private static let locked = Argument.required(
        ValueFormat.line("ADDRESS", upTo: 254), help: "The mail address")

    private static let unlock = Command(
        "account", "unlock", effect: .write,
        summary: "Let an address request codes and reset links again at once",
        discussion: """
            Deletes the codes and reset links of the address, also those that could still be \
            used. The audit log names the person, not the address.
            """,
        examples: [.init("errand account unlock ann@example.org", "after five codes in an hour")],
        options: [AuditOptions.reason], arguments: [locked]
    ) { invocation in
        let address = invocation[locked]
        try invocation.confirm("delete the codes and reset links of \(address)?")
        let deleted = try await AccountChanges(
            session: try invocation.session(), actor: invocation.operatorName
        ).unlock(address, reason: invocation[AuditOptions.reason])
        try invocation.output.show(
            Record([("address", .text(address)), ("deleted", .int(deleted))]))
        return .done
    }
}
