/// The version of Errand.
public enum Build {
    /// The version, as `--version` prints it.
    public static let version = "0.2.0"
}
