import ErrandCommand

/// The names in records of keys.
enum KeyFieldNames {
    static let all: [FieldName] = [
        ("name", "of the key"),
        ("key", "the name of the key that seals, or has sealed"),
        ("columns", "the columns whose values it has sealed, each with their count"),
        ("column", "a column that holds sealed values"),
        ("left", "values that other keys have sealed"),
    ]
}
