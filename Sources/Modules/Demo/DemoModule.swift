package import ErrandCommand

/// Kinds of job for trying Errand out; workers have them only if asked to.
package struct DemoModule: Module {
    package let migrations = MigrationLine(module: "demo", files: [])

    package let variables: [VariableName] = [
        ("ERRAND_DEMO", "1 gives this worker the demo kinds."),
        ("ERRAND_DEMO_EXIT", "1 permits jobs of the kind demo.exit to stop this worker."),
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) {
        // Commands know the kinds, so that an operator may enqueue jobs for such a worker.
        guard setup.purpose == .listing || setup.environment["ERRAND_DEMO"] == "1" else { return }
        DemoKinds.add(to: &kinds, mayExit: setup.environment["ERRAND_DEMO_EXIT"] == "1")
    }
}
