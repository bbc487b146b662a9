/// Which version of Errand this is.
public enum Build {
    /// As `--version` prints it.
    public static let version = "0.1.0"
}
