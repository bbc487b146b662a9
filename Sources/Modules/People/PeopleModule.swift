package import ErrandCommand

/// The people of all apps: address, time zone, age, consent and quiet hours.
package struct PeopleModule: Module {
    package let migrations = MigrationLine(
        module: "people", files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })

    package init() {}
}
