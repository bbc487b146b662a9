import ErrandCommand

/// The field names of terms and news.
enum NewsFieldNames {
    static let all: [FieldName] = [
        ("audience", "whom a sending is for: all, app:NAME or list"),
        ("headline", "the title of the notice"),
        ("summary", "the text of the push, and the first lines of a mail of terms"),
        ("body", "the text of the mail and the inbox"),
        ("version", "the version of the terms, as consents have it"),
        ("state_since", "when it was started, paused, resumed, cancelled or done"),
        ("created_by", "the operator who drafted it"),
        ("started_by", "the operator who started it"),
        ("chunk_at", "when the last chunk of people was notified"),
        ("people", "the number of people it was for when it started"),
        ("notified", "the number of people who are notified, now or at their own time"),
        ("skipped", "the number of people who are not: blocked, by choice, capped, or before"),
        ("samples", "the rendered notice by each channel"),
        ("left", "the number of people who are still to be notified"),
        ("per_second", "people per second since it was started or resumed last"),
        ("remaining", "how long the rest takes at this rate"),
    ]
}
