import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand ledger prove` and `proofs`.
enum LedgerProofCommands {
    static let all = [prove, proofs]

    private static let prove = Command(
        "ledger", "prove", effect: .write,
        summary: "Verify that balances equal the sums of their lines and transactions sum to zero",
        discussion: """
            Workers of the queue \(ProveLedger.options.queue) do so every night. The proof reads \
            one snapshot of the whole ledger, blocks no writes and stores its result. On a fault \
            it exits 1 and sends the event ledger.broken to endpoints of the owner 'operator'.
            """,
        examples: [.init("errand ledger prove", "after a restore from a backup")]
    ) { invocation in
        let proof = try await ProveLedger.run(in: try invocation.pool(), now: .now())
        try invocation.output.show(record(proof))
        guard proof.faults == 0 else {
            throw CommandFailure(
                exit: .failed,
                message: "the proof of the ledger failed: \(proof.examples.first ?? "")",
                hint: "'errand ledger proofs --limit 1 -ojson' lists more faults")
        }
        return .done
    }

    private static let proofs = Command(
        "ledger", "proofs", effect: .read, summary: "List proofs of the ledger, newest first",
        discussion: "EXAMPLES has the first faults, at most 20.",
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
            empty: "the ledger was never proved: run 'errand ledger prove', or start a worker of "
                + "the queue \(ProveLedger.options.queue)")
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
