import Errand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of migrations and extensions.
extension DoctorCommand {
    static func modules(_ session: Session, _ invocation: Invocation) async -> [Finding] {
        let modules = invocation.modules
        let status: [ModuleStatus]
        do {
            status = try await Migrator(session: session, modules: modules.lines).status()
        } catch { return [failed("migrations", error)] }
        var findings = [migrations(status)]
        let installed = Set(status.filter(\.isInstalled).map(\.module))
        let needed = modules.usable(installed).all.flatMap(\.extensions)
        for name in Set(needed).sorted() {
            findings.append(await extensionNamed(name, session, ServerLines(invocation)))
        }
        return findings
    }

    private static func migrations(_ status: [ModuleStatus]) -> Finding {
        let installed = status.filter(\.isInstalled)
        guard !installed.isEmpty else {
            return Finding(
                check: "migrations", severity: .critical,
                message: "Errand's schema is not installed in this database",
                remedy: "errand migrate")
        }
        if let module = installed.first(where: { $0.deviating != nil }), let file = module.deviating
        {
            return Finding(
                check: "migrations", severity: file.state == .superseded ? .note : .critical,
                message: "\(module.module): \(file.path) is \(file.state.rawValue)",
                remedy: "errand migrate status  # then run the version of errand that applied it")
        }
        let names = Set(installed.map(\.module))
        for module in installed {
            guard let need = module.needs.first(where: { !names.contains($0) }) else { continue }
            return Finding(
                check: "migrations", severity: .critical,
                message: "\(module.module) needs \(need), which is not installed",
                remedy: "errand migrate")
        }
        let pending = installed.filter { !$0.pending.isEmpty }
        let count = pending.map(\.pending.count).reduce(0, +)
        return Finding(
            check: "migrations", severity: count == 0 ? .ok : .critical,
            message: "\(installed.map(\.module).joined(separator: ", ")): \(count) pending"
                + (count == 0 ? "" : " in \(pending.map(\.module).joined(separator: ", "))"),
            remedy: count == 0 ? nil : "errand migrate")
    }

    /// Checks that an extension of the installed modules is enabled and in the search path.
    private static func extensionNamed(
        _ name: String, _ session: Session, _ servers: ServerLines
    ) async -> Finding {
        await guarded("extensions") {
            let rows = try await session.query(
                """
                SELECT a.installed_version, n.nspname = ANY (current_schemas(true)) AS is_visible,
                    quote_ident(n.nspname), quote_ident(current_user)
                FROM pg_available_extensions a LEFT JOIN pg_extension e ON e.extname = a.name
                LEFT JOIN pg_namespace n ON n.oid = e.extnamespace
                WHERE a.name = $1
                """, [.text(name)])
            guard let row = rows.first else {
                return Finding(
                    check: "extensions", severity: .critical,
                    message: "\(name) is not available on the server",
                    remedy: name == "postgis"
                        ? "apt-get install postgresql-15-postgis-3  # on the database host"
                        : "apt-get install postgresql-contrib  # on the database host")
            }
            guard let version = try row.optionalText(0) else {
                return Finding(
                    check: "extensions", severity: .warning,
                    message: "\(name) is not enabled in this database",
                    remedy: servers.psql("CREATE EXTENSION \(name) SCHEMA public"))
            }
            // CREATE EXTENSION may have put it into the schema named after the user.
            guard try row.bool(1) else {
                let (schema, user) = (try row.text(2), try row.text(3))
                return Finding(
                    check: "extensions", severity: .critical,
                    message: "\(name) \(version) is in the schema \(schema), which is not in the "
                        + "search_path of \(user)",
                    remedy: servers.psql(
                        "ALTER ROLE \(user) SET search_path = \"$user\", public, \(schema)"))
            }
            return Finding(check: "extensions", severity: .ok, message: "\(name) \(version)")
        }
    }
}
