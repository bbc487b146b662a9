/// Which program this is.
enum Build {
    static let version = "0.1.0"
}
