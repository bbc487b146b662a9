import ErrandCommand

/// The field names of establishments.
enum EstablishmentFieldNames {
    static let all: [FieldName] = [
        ("branch_count", "the number of branches, the closed ones too"),
        ("branches", "the branches of an establishment"),
        ("longitude", "WGS 84, degrees"),
        ("latitude", "WGS 84, degrees"),
        ("closed_at", "when it was closed"),
    ]
}
