/// Why there is no document.
package enum PDFError: Error, Sendable, Equatable, CustomStringConvertible {
    /// libharu failed: at what, and its own code (the `HPDF_…` errors of its `hpdf_error.h`).
    case library(doing: String, code: UInt)
    /// There is no memory for a document.
    case noMemory

    /// What a person can do about it.
    package var description: String {
        switch self {
        case .library(let doing, let code):
            "libharu failed at \(doing) with code 0x\(String(code, radix: 16)): "
                + "a fault of the program, or no memory"
        case .noMemory:
            "there is no memory for a PDF document: make fewer pages at once"
        }
    }
}
