import Foundation
import ErrandTestServices
import Testing

extension CommandLine {
    /// The manifests: by the published schemas and by what has to fit together, then for real.
    @Suite("Manifests for Kubernetes") struct KubernetesTests {
        private static let folder = DeployFolder.checkout.appending(path: "deploy/kubernetes").path

        @Test func `the manifests have nothing amiss`() async throws {
            let lines = try await DeployFolder.run(
                "deploy/manifest_check.py", [Self.folder] + DeployFolder.queues(),
                within: .seconds(300))
            #expect(lines == ["nothing is wrong"])
        }

        @Test func `faults that are planted in the manifests are found`() async throws {
            let lines = try await DeployFolder.run(
                "deploy/manifest_check.py", ["--self-test", Self.folder] + DeployFolder.queues(),
                within: .seconds(500))
            #expect(lines.last == "nothing is wrong")
        }

        /// Migration, tick, scheduler and all workers, with their variables and secrets alone.
        @Test func `what the containers run comes up, answers its probes and ends`() async throws {
            let database = try await TestDatabase.url(with: nil)
            let redis = try TestDatabase.environment("REDIS_URL")
            let lines = try await DeployFolder.run(
                "deploy/manifest_run.py", [Self.folder, DeployFolder.binary, database, redis],
                within: .seconds(300))
            for line in lines { print("kubernetes:", line) }
            #expect(lines.filter { $0.contains("did its work") }.count == 2)
            #expect(lines.filter { $0.contains("ended in order") }.count == 5)
            #expect(lines.filter { $0.hasPrefix("ScaledObject") }.count == 6)
        }
    }
}
