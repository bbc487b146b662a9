package import ErrandCommand

/// Kinds of job for trying Errand out.
package struct DemoModule: Module {
    package let migrations = MigrationLine(module: "demo", files: [])

    package let variables: [VariableName] = [
        ("ERRAND_DEMO_EXIT", "1 permits jobs of the kind demo.exit to stop this worker.")
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) {
        DemoKinds.add(to: &kinds, mayExit: setup.environment["ERRAND_DEMO_EXIT"] == "1")
    }
}
