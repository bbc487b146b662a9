/// Why a document could not be created.
package enum PDFError: Error, Sendable, Equatable, CustomStringConvertible {
    /// libharu failed: the operation, and its code (the `HPDF_…` errors of its `hpdf_error.h`).
    case library(doing: String, code: UInt)
    /// A lack of memory.
    case noMemory

    /// The message for people.
    package var description: String {
        switch self {
        case .library(let doing, let code):
            "libharu failed at \(doing) with code 0x\(String(code, radix: 16)): "
                + "a bug of the program, or a lack of memory"
        case .noMemory:
            "not enough memory for a PDF document: create fewer pages at once"
        }
    }
}
