import Errand
import ErrandCommand
import ErrandCommand

/// What the doctor looks at for the sake of the ledger.
enum DoctorLedger {
    /// So long after the last proof a night was left out for certain.
    private static let proofsAge = Duration.seconds(2 * 86_400)

    static func findings(of checkup: Checkup) async -> [Finding] {
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard let health = try? await LedgerHealth.read(checkup.session) else { return [] }
        let remedy =
            "errand ledger prove  # and let a worker do so every night: errand work --queues "
            + ProveLedger.options.queue
        guard let proof = health.lastProof, let age = health.age else {
            return [
                health.isUsed
                    ? Finding(
                        check: "ledger", grade: .warning,
                        found: "there are transactions, and the ledger was never proved",
                        remedy: remedy)
                    : Finding(check: "ledger", grade: .ok, found: "nothing was ever posted")
            ]
        }
        if proof.faults > 0 {
            return [
                Finding(
                    check: "ledger", grade: .critical,
                    found: "the ledger does not prove: \(HumanFormat.count(proof.faults)) "
                        + (proof.faults == 1 ? "fault" : "faults")
                        + (proof.examples.first.map { ", such as: \($0)" } ?? ""),
                    remedy: "errand ledger proofs --limit 1 -ojson  # nobody should be paid before "
                        + "this is understood")
            ]
        }
        guard age <= proofsAge else {
            return [
                Finding(
                    check: "ledger", grade: .warning,
                    found: "the last proof is \(HumanFormat.duration(age)) old", remedy: remedy)
            ]
        }
        return [
            Finding(
                check: "ledger", grade: .ok,
                found: "\(HumanFormat.count(proof.postings)) postings proved "
                    + "\(HumanFormat.duration(age)) ago")
        ]
    }
}
