import Errand
import ErrandCommand
import ErrandCommand

/// The doctor's checks of the ledger.
enum DoctorLedger {
    /// The age of the last proof after which a nightly run was certainly missed.
    private static let proofsAge = Duration.seconds(2 * 86_400)

    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report why it cannot be read: servers, migrations, rights.
        guard let health = try? await LedgerHealth.read(context.session) else { return [] }
        let remedy =
            "errand ledger prove  # a worker does so every night: errand work --queues "
            + ProveLedger.options.queue
        guard let proof = health.lastProof, let age = health.age else {
            return [
                health.isUsed
                    ? Finding(
                        check: "ledger", severity: .warning,
                        message: "the ledger has transactions but was never proved",
                        remedy: remedy)
                    : Finding(check: "ledger", severity: .ok, message: "the ledger is empty")
            ]
        }
        if proof.faults > 0 {
            return [
                Finding(
                    check: "ledger", severity: .critical,
                    message: "the proof of the ledger failed: \(HumanFormat.count(proof.faults)) "
                        + (proof.faults == 1 ? "fault" : "faults")
                        + (proof.examples.first.map { ", such as: \($0)" } ?? ""),
                    remedy: "errand ledger proofs --limit 1 -ojson  # stop payouts until this is "
                        + "explained")
            ]
        }
        guard age <= proofsAge else {
            return [
                Finding(
                    check: "ledger", severity: .warning,
                    message: "the last proof is \(HumanFormat.duration(age)) old", remedy: remedy)
            ]
        }
        return [
            Finding(
                check: "ledger", severity: .ok,
                message: "\(HumanFormat.count(proof.postings)) postings proved "
                    + "\(HumanFormat.duration(age)) ago")
        ]
    }
}
