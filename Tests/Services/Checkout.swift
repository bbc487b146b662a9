package import Foundation

/// The checkout that the tests were built from.
package enum Checkout {
    package static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    package static let simulators = root.appending(path: "Tests/Simulators")
}
