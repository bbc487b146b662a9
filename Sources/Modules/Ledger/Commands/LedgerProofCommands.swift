import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand ledger prove` and `proofs`, and what the doctor says of them.
enum LedgerProofCommands {
    static let all = [prove, proofs]

    private static let prove = Command(
        "ledger", "prove", effect: .changes,
        summary: "Prove now that balances are the sums of lines and transactions sum to zero",
        discussion: """
            Workers of the queue \(ProveLedger.options.queue) do so every night. It reads the \
            whole ledger as of one moment, hinders nobody, and writes down what it found. Exits 1 \
            when there is a fault; endpoints of the owner 'operator' are told then \
            (ledger.broken).
            """,
        examples: [.init("errand ledger prove", "after a restore from a backup")]
    ) { invocation in
        let proof = try await ProveLedger.run(in: try invocation.pool(), now: .now())
        try invocation.output.show(record(proof))
        guard proof.faults == 0 else {
            throw CommandFailure(
                exit: .failed,
                message: "the ledger does not prove: \(proof.examples.first ?? "")",
                hint: "'errand ledger proofs --limit 1 -ojson' has more of the faults")
        }
        return .done
    }

    private static let proofs = Command(
        "ledger", "proofs", effect: .looks, summary: "List proofs of the ledger, the newest first",
        discussion: "EXAMPLES are the first of the faults, at most 20.",
        examples: [.init("errand ledger proofs --limit 7", "the last week")],
        options: [PageOptions.limit]
    ) { invocation in
        let proofs = try await Proof.list(
            try invocation.session(), limit: invocation[PageOptions.limit])
        try invocation.output.list(
            proofs.map(record),
            columns: [
                Column("id"), Column("ended_at"), Column("result"), Column("accounts"),
                Column("transactions"), Column("postings"), Column("faults"),
                Column("examples", isFlexible: true),
            ],
            empty: "the ledger was never proved: no worker of the queue "
                + "\(ProveLedger.options.queue) was there, nor 'errand ledger prove'")
        return .done
    }

    private static func record(_ proof: Proof) -> Record {
        Record([
            ("id", .id(Int(proof.id))),
            ("result", proof.faults == 0 ? .marked("proved", .green) : .marked("broken", .red)),
            ("started_at", proof.startedAt.cell), ("ended_at", proof.endedAt.cell),
            ("accounts", .int(proof.accounts)), ("transactions", .int(proof.transactions)),
            ("postings", .int(proof.postings)), ("faults", .int(proof.faults)),
            ("examples", .list(proof.examples)),
        ])
    }
}
