/// SQL for values in JSON that a program wrote, and that may be of any type and size.
///
/// A cast of the text would raise an error for another value, and with it fail the statement for
/// all other rows.
extension Statements {
    /// The whole number in a JSON value, from 0 to a limit; null if it is no number.
    package static func whole(_ value: String, upTo limit: Int = 1_000_000_000) -> String {
        """
        (CASE WHEN jsonb_typeof(\(value)) = 'number'
            THEN least(greatest((\(value))::numeric, 0), \(limit))::bigint END)
        """
    }

    /// The number in a JSON value, from 0 to a thousand million with six decimals; null if it is no
    /// number.
    package static func real(_ value: String) -> String {
        """
        (CASE WHEN jsonb_typeof(\(value)) = 'number'
            THEN round(least(greatest((\(value))::numeric, 0), 1e9), 6)::float8 END)
        """
    }

    /// The time in an RFC 3339 text in UTC, as `Instant` writes it; null for another text.
    package static func instant(_ text: String) -> String {
        """
        (jsonb_path_query_first_tz(to_jsonb(replace(\(text), 'Z', '+00')),
            '$.datetime() ? (@.type() == "timestamp with time zone")', '{}', true)
            #>> '{}')::timestamptz
        """
    }
}
