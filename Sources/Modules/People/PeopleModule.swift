package import ErrandCommand

/// Who the people of all apps are: address, zone, age, consent, and when they may be disturbed.
package struct PeopleModule: Module {
    package let migrations = MigrationLine(
        module: "people", files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })

    package init() {}
}
