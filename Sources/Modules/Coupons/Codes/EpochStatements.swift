import ErrandPostgres

/// The SQL of ``Rotation``.
enum EpochStatements {
    static let lock = """
        SELECT series, extract(epoch FROM period)::bigint AS period, ahead,
            extract(epoch FROM date_trunc('second', clock_timestamp()))::bigint AS now
        FROM coupons.code_series ORDER BY series FOR UPDATE
        """

    static let read = """
        SELECT e.series, extract(epoch FROM e.starts_at)::bigint AS start, e.slot,
            extract(epoch FROM e.good_until)::bigint AS good_until, e.sealed,
            o.series IS NOT NULL AS is_open
        FROM coupons.epochs e LEFT JOIN coupons.open_secrets o USING (series, starts_at)
        ORDER BY e.series, e.starts_at
        """

    static func insert(_ series: CodeSeries, _ epoch: Epoch, _ sealed: [UInt8]) -> Statement {
        Statement(
            """
            INSERT INTO coupons.epochs (series, starts_at, slot, good_until, sealed)
            VALUES ($1, to_timestamp($2), $3, to_timestamp($4), $5)
            """,
            [
                .text(series.rawValue), .double(Double(epoch.start)), .int16(epoch.slot),
                .double(Double(epoch.goodUntil)), .bytes(sealed),
            ])
    }

    /// Inserts the open secret; requires the row of its epoch.
    static func open(_ series: CodeSeries, _ start: Int64, _ secret: EpochSecret) -> Statement {
        let blocks = secret.blocks
        return Statement(
            """
            INSERT INTO coupons.open_secrets
                (series, starts_at, mark, good_until, inner_block, outer_block)
            SELECT e.series, e.starts_at, coupons.mark_of(e.series, e.starts_at, e.slot),
                e.good_until, $3, $4
            FROM coupons.epochs e WHERE e.series = $1 AND e.starts_at = to_timestamp($2)
            ON CONFLICT (series, starts_at) DO UPDATE
            SET mark = excluded.mark, good_until = excluded.good_until,
                inner_block = excluded.inner_block, outer_block = excluded.outer_block
            """,
            [
                .text(series.rawValue), .double(Double(start)), .bytes(blocks.inner),
                .bytes(blocks.outer),
            ])
    }

    static func prolong(_ series: CodeSeries, _ epoch: Epoch) -> [Statement] {
        ["coupons.open_secrets", "coupons.epochs"].map { table in
            Statement(
                """
                UPDATE \(table) SET good_until = to_timestamp($3)
                WHERE series = $1 AND starts_at = to_timestamp($2)
                """,
                [
                    .text(series.rawValue), .double(Double(epoch.start)),
                    .double(Double(epoch.goodUntil)),
                ])
        }
    }

    static func destroy(_ series: CodeSeries, _ starts: [Int64]) -> [Statement] {
        ["coupons.open_secrets", "coupons.epochs"].map { table in
            Statement(
                """
                DELETE FROM \(table)
                WHERE series = $1 AND starts_at = ANY (
                    SELECT to_timestamp(s) FROM unnest($2::bigint[]) AS s)
                """,
                [.text(series.rawValue), .int64Array(starts)])
        }
    }
}
