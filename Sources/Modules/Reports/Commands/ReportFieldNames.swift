import ErrandCommand

/// The field names of reports.
enum ReportFieldNames {
    static let all: [FieldName] = [
        ("establishment_name", "the name of the establishment"),
        ("report_kind", "weekly, monthly or statement"),
        ("period", "the week or month of a report, such as 2026-W47 or 2026-10"),
        ("revision", "how often the figures have changed since the report was made, plus 1"),
        ("due_at", "06:00 behind the period, in the establishment's time zone"),
        ("made_at", "when the newest revision was made"),
        ("sendings", "how often the contacts were notified"),
        ("folder", "the folder of the files, below ERRAND_REPORTS_DIR"),
        ("contacts", "how many addresses were notified"),
        ("owed", "what an establishment owes, by currency"),
        ("overdue", "the part that is owed for more than 30 days"),
        ("payments", "the payments of an establishment"),
        ("paid_at", "when a payment was made"),
        ("corrected_at", "when a payment was reversed"),
        ("correction", "why a payment was reversed"),
        ("locale", "the language of the mails to a contact"),
        ("added_at", "when a contact was added"),
    ]
}
