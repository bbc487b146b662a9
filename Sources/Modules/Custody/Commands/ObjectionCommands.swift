import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand transfer object` and `objections`: people who do not want their data transferred.
enum ObjectionCommands {
    static let all = [object, list]

    private static let person = Argument.required(
        ValueFormat.integer("PERSON", in: 1...Int.max), help: "The person's id")
    private static let withdraw = Option.flag("withdraw", help: "Withdraw the objection")

    private static let object = Command(
        "transfer", "object", effect: .write,
        summary: "Record that a person objects to the transfer of their data",
        discussion: """
            Exports leave out those who object, as if they had been erased: what other people or \
            the books need stays, without the person.
            """,
        examples: [
            .init("errand transfer object 42", "leave person 42 out"),
            .init("errand transfer object 42 --withdraw", "take it back"),
        ],
        options: [withdraw, CustodyFormatting.reason], arguments: [person]
    ) { invocation in
        let session = try invocation.session()
        let (id, isWithdrawn) = (Int64(invocation[person]), invocation[withdraw])
        let call =
            isWithdrawn
            ? Statement("SELECT custody.withdraw_objection($1)", [.int64(id)])
            : Statement(
                "SELECT custody.object($1, $2)", [.int64(id), .text(invocation.operatorName)])
        let rows = try await CustodyFormatting.refusing {
            try await session.pipeline([
                call,
                AuditLine(
                    operatorName: invocation.operatorName,
                    action: "transfer object", subject: "person \(id)",
                    reason: invocation[CustodyFormatting.reason],
                    change: isWithdrawn ? try AuditLine.json(["withdraw": true]) : nil
                ).statement,
            ])
        }
        if isWithdrawn, try !rows[0].bool(0, 0) {
            throw CommandFailure(
                exit: .notFound, message: "person \(id) does not object",
                hint: "'errand transfer objections' lists those who do")
        }
        try invocation.output.show(
            Record([
                ("person", .id(Int(id))), ("state", .text(isWithdrawn ? "withdrawn" : "objects")),
            ]))
        return .done
    }

    private static let list = Command(
        "transfer", "objections", effect: .read,
        summary: "List the people who object to the transfer of their data",
        examples: [.init("errand transfer objections", "those whom exports leave out")]
    ) { invocation in
        let rows = try await invocation.session().query(
            "SELECT person_id, objected_at, recorded_by FROM custody.objections ORDER BY person_id")
        try invocation.output.list(
            try rows.map { row in
                Record([
                    ("person", .id(Int(try row.int64("person_id")))),
                    ("objected_at", try row.timestamp("objected_at").cell),
                    ("recorded_by", .text(try row.text("recorded_by"))),
                ])
            }, empty: "nobody objects")
        return .done
    }
}
