import ErrandCommand

/// The field names of destructions and transfers.
enum CustodyFieldNames {
    static let all: [FieldName] = [
        ("destruction", "the id of the destruction of all customer data"),
        ("people_notified_on", "the day on which all people had been notified"),
        ("keeps_ledger", "whether the ledger stays, without people"),
        ("context", "the production context of the plan"),
        ("folders", "the folders of this host whose content is removed"),
        ("accepted", "the open matters that both operators accept"),
        ("open_matters", "what is to be settled before the start: name, message and remedy"),
        ("planned_by", "who planned the destruction"),
        ("planned_at", "when it was planned"),
        ("steps", "the steps, with their states and what they did"),
        ("tables", "the number of tables"),
        ("rows", "the number of rows"),
        ("rows_before", "the number of rows before the destruction"),
        ("rows_after", "the number of rows that are left"),
        ("certificate", "the certificate: tables, counts, times and operators"),
        ("sha256", "the SHA-256 of the certificate or of the manifest"),
        ("people", "the number of people in the archive"),
        ("left_out", "the number of people who are not in the archive, because they object"),
        ("recipient", "the subject of the certificate to which the archive is sealed"),
        ("sealing_keys", "the keys that sealed values need; they are transferred apart"),
        ("files", "the number of sealed files"),
        ("objected_at", "when the objection was recorded"),
        ("recorded_by", "the operator who recorded the objection"),
        ("notice_days", "how many days before people must be notified"),
        ("verified", "what was verified: files, or rows too"),
    ]
}
