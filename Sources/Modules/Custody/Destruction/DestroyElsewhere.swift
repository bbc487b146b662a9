import ErrandPostgres

/// What no command of Errand can destroy: operators do it by hand, and the certificate lists it.
enum DestroyElsewhere {
    private static let always = [
        "this database itself, last: DROP DATABASE removes PostgreSQL's statistics of columns, "
            + "which hold samples of values, and the files of dropped rows",
        "PostgreSQL's write-ahead log and its archive",
        "base backups, dumps and snapshots of disks",
        "standbys and logical replicas of PostgreSQL",
        "RDB and AOF files of Redis, its replicas and backups",
        "the key file on every other host, and its copies in secret stores and backups",
        "queues and logs of the mail server; bounces and replies in mailboxes",
        "logs of workers, app servers, PostgreSQL and proxies",
        "payout files and cheques at the bank and on paper, as far as the law permits",
        "exports of people's data and transfer archives",
        "what webhook endpoints, push providers and establishments received",
        "photos and files that the database only refers to",
    ]

    /// Returns the list of a destruction of this database.
    static func list(_ destruction: Int64, _ session: Session) async throws -> [String] {
        let keys = try await session.query(
            """
            SELECT k AS name
            FROM custody.steps s, jsonb_array_elements_text(s.detail -> 'elsewhere') k
            WHERE s.destruction_id = $1 AND s.name = 'keys' ORDER BY 1
            """, [.int64(destruction)])
        let foreign = try await session.query(
            "SELECT schema, tables FROM custody.foreign_schemas()")
        return try always
            + keys.map { row in
                "the key \(try row.text("name")), which has sealed values and is in a file "
                    + "elsewhere"
            }
            + foreign.map { row in
                "schema \(try row.text("schema")) of this database: \(try row.int64("tables")) "
                    + "tables that belong to no module"
            }
    }
}
