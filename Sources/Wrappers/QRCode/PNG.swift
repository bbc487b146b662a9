import CErrandPNG

extension QRSymbol {
    /// The maximum width of a module in pixels; a symbol of version 40 then has a side of 7,400.
    package static let largestScale = 40

    /// Returns a PNG file of the symbol in its quiet zone, black on white with one bit per pixel.
    ///
    /// libpng reports errors by longjmp, which must not cross a Swift frame. Its simplified
    /// interface sets the target of the jump inside its own call, and returns a failure as a value.
    ///
    /// - Parameter scale: the width of a module in pixels, at most ``largestScale``.
    package func png(scale: Int) throws(QRCodeError) -> [UInt8] {
        guard (1...Self.largestScale).contains(scale) else { throw .badScale(scale) }
        // With a palette of two colors, libpng packs eight pixels into a byte.
        let pixels = frame.flatMap { row in
            let line = frame.flatMap { column in
                repeatElement(isDark(row: row, column: column) ? 0 : 1 as UInt8, count: scale)
            }
            return repeatElement(line, count: scale).joined()
        }
        let palette: [UInt8] = [0, 0, 0, 255, 255, 255]
        var image = unsafe png_image()
        unsafe image.version = png_uint_32(PNG_IMAGE_VERSION)
        unsafe image.width = png_uint_32(frame.count * scale)
        unsafe image.height = unsafe image.width
        unsafe image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_COLORMAP)
        unsafe image.colormap_entries = 2
        defer { unsafe png_image_free(&image) }
        var size = unsafe errand_png_most_bytes(&image)
        var file = [UInt8](repeating: 0, count: Int(size))
        guard unsafe png_image_write_to_memory(&image, &file, &size, 0, pixels, 0, palette) != 0
        else {
            throw .library("libpng failed: \(unsafe String(cString: errand_png_error(&image)))")
        }
        return Array(file.prefix(Int(size)))
    }
}
