import ErrandCommand

/// The field names of keys.
enum KeyFieldNames {
    static let all: [FieldName] = [
        ("name", "the name of the key"),
        ("key", "the name of the key that seals, or has sealed"),
        ("columns", "the columns with values sealed with the key, and their number"),
        ("column", "the column of sealed values"),
        ("left", "the number of values sealed with other keys"),
    ]
}
