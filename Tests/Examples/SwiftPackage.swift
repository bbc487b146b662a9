import ErrandTestServices
import Foundation

/// A package of its own that depends on this one by path, built without a network.
struct SwiftPackage {
    /// Its folder in the checkout.
    let folder: String

    /// What is built stays in the checkout's `.build`, so that a second run finds it there.
    private var scratch: String { Checkout.root.appending(path: ".build/packages/\(folder)").path }

    /// Where a program of it lies.
    func program(_ name: String) -> String { "\(scratch)/debug/\(name)" }

    /// Builds it.
    ///
    /// - Throws: `Program.Trouble` with what the compiler has printed.
    func build() async throws {
        let package = Checkout.root.appending(path: folder).path
        let build = try Program(
            "/usr/bin/env",
            [
                "swift", "build", "--package-path", package, "--scratch-path", scratch,
                "--disable-automatic-resolution",
            ])
        guard try await build.end(within: .seconds(900)) == .exited(0) else {
            throw Program.Trouble("\(folder): \(build.output)\(build.errors)")
        }
    }
}
