import Foundation
import ErrandTestServices
import Testing

extension CommandLine {
    /// The units and the crontab: by systemd's and cron's own checks, then for real.
    @Suite("Units for systemd") struct SystemdTests {
        private static let deploy = DeployFolder.checkout.appending(path: "deploy").path

        @Test func `the units and the crontab have nothing amiss`() async throws {
            let lines = try await DeployFolder.run(
                "deploy/unit_check.py", [Self.deploy, DeployFolder.binary] + DeployFolder.queues(),
                within: .seconds(120))
            for line in lines.dropLast() { print("systemd:", line) }
            #expect(lines.last == "nothing is wrong")
        }

        @Test func `faults that are planted in units and crontab are found`() async throws {
            let lines = try await DeployFolder.run(
                "deploy/unit_check.py",
                ["--self-test", Self.deploy, DeployFolder.binary] + DeployFolder.queues(),
                within: .seconds(300))
            #expect(lines.last == "nothing is wrong")
        }

        /// A systemd is booted for it, which needs root; the README's commands run as they stand.
        @Test func `the README leads from nothing to two workers, and away again`() async throws {
            let database = try await TestDatabase.url(with: nil)
            let redis = try TestDatabase.environment("REDIS_URL")
            let lines = try await DeployFolder.run(
                "deploy/systemd_trial.py",
                [DeployFolder.checkout.path, DeployFolder.binary, database, redis],
                within: .seconds(500))
            for line in lines { print("systemd:", line) }
            #expect(lines.last?.hasPrefix("followed Remove") == true)
        }
    }
}
