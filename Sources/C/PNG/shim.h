#pragma once
#include <png.h>

// Swift does not see macros with arguments: the most bytes that the image can take as a PNG.
static inline png_alloc_size_t errand_png_most_bytes(const png_image *image) {
    return PNG_IMAGE_PNG_SIZE_MAX(*image);
}

// An array inside a struct is a tuple in Swift; this is its text.
static inline const char *errand_png_error(const png_image *image) {
    return image->message;
}
