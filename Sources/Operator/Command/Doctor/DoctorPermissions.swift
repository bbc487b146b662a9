import ErrandPostgres
import ErrandTerminal

/// The doctor's check of privileges: whether this login has those of the role `errand_worker`.
extension DoctorCommand {
    private static let roles = """
        SELECT to_regrole('errand_worker') IS NOT NULL AS is_made,
            (SELECT r.name FROM unnest('{errand_inspector,errand_scheduler,errand_app,errand_till,
                errand_autoscaler}'::text[]) AS r (name)
             WHERE to_regrole(r.name) IS NOT NULL
               AND pg_has_role(to_regrole(r.name)::oid, 'USAGE') LIMIT 1) AS lesser,
            to_regrole('errand_worker') IS NOT NULL
                AND pg_has_role(to_regrole('errand_worker')::oid, 'USAGE') AS works
        """

    /// The privileges that errand_worker has and this login lacks.
    ///
    /// Without USAGE on a schema, lists only the schema.
    private static let lacking = """
        WITH ours AS (
            SELECT oid, nspname FROM pg_namespace
            WHERE has_schema_privilege('errand_worker', oid, 'USAGE')
              AND nspname <> 'public' AND nspname !~ '^(pg_|information_schema)'
        ), open AS (SELECT * FROM ours WHERE has_schema_privilege(oid, 'USAGE')),
        lacking AS (
            SELECT format('schema %I', nspname) AS name FROM ours
            WHERE NOT has_schema_privilege(oid, 'USAGE')
            UNION ALL
            SELECT format('sequence %I.%I', nspname, relname)
            FROM pg_class c JOIN open ON open.oid = c.relnamespace
            -- CASE, because has_sequence_privilege fails on other relations.
            WHERE CASE WHEN c.relkind = 'S'
                THEN has_sequence_privilege('errand_worker', c.oid, 'USAGE')
                    AND NOT has_sequence_privilege(c.oid, 'USAGE') END
            UNION ALL
            SELECT format('functions of schema %I', nspname)
            FROM pg_proc p JOIN open ON open.oid = p.pronamespace
            WHERE has_function_privilege('errand_worker', p.oid, 'EXECUTE')
              AND NOT has_function_privilege(p.oid, 'EXECUTE')
            GROUP BY nspname
            UNION ALL
            SELECT format('table %I.%I', nspname, relname)
            FROM pg_class c JOIN open ON open.oid = c.relnamespace
            WHERE c.relkind IN ('r', 'p', 'v') AND (
                EXISTS (
                    SELECT FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS p (name)
                    WHERE has_table_privilege('errand_worker', c.oid, p.name)
                      AND NOT has_table_privilege(c.oid, p.name))
                -- Where errand_worker may read only some columns.
                OR has_any_column_privilege('errand_worker', c.oid, 'SELECT')
                    AND NOT has_any_column_privilege(c.oid, 'SELECT'))
        )
        SELECT array_agg(name ORDER BY name), quote_ident(current_user),
            -- The bootstrap superuser: the owner of the tables may not grant roles.
            pg_get_userbyid(10)::text
        FROM lacking
        """

    private static let namedAtMost = 8

    static func permissions(_ session: Session, _ servers: ServerLines) async -> Finding {
        await guarded("permissions") {
            guard let role = try await session.query(roles, []).first, try role.bool("is_made")
            else {
                return Finding(
                    check: "permissions", severity: .note,
                    message: "Errand's database roles do not exist: privileges were not checked",
                    remedy: "errand migrate")
            }
            if let lesser = try role.optionalText("lesser"), try !role.bool("works") {
                let words =
                    switch lesser {
                    case "errand_inspector": "has read-only access"
                    case "errand_scheduler": "may run schedules"
                    case "errand_app": "has the access of an app"
                    case "errand_till": "has the access of a till"
                    default: "may read the backlog"
                    }
                return Finding(
                    check: "permissions", severity: .ok,
                    message: "this login \(words), through \(lesser)")
            }
            let rows = try await session.query(lacking, [])
            guard let row = rows.first, let names = try row.optionalTextArray(0), !names.isEmpty
            else {
                return Finding(
                    check: "permissions", severity: .ok,
                    message: "this login has all privileges of a worker")
            }
            let rest = names.count - namedAtMost
            let named = names.prefix(namedAtMost).joined(separator: ", ")
            return Finding(
                check: "permissions", severity: .critical,
                message: "no access to \(named)" + (rest > 0 ? " and \(rest) more" : ""),
                remedy: servers.psql(
                    "GRANT errand_worker TO \(try row.text(1))", user: try row.optionalText(2)))
        }
    }
}
