#pragma once
#include <hpdf.h>

// libharu calls this after it has written down what went wrong. To return is allowed: the call
// that failed then ends with the same code, and so do all that follow on the document. Leaving by
// a jump, as its examples do, would cross frames of Swift.
static inline void errand_haru_note(HPDF_STATUS code, HPDF_STATUS detail, void *data) {
    (void)code;
    (void)detail;
    (void)data;
}

static inline HPDF_Doc errand_haru_new(void) {
    return HPDF_NewEx(errand_haru_note, NULL, NULL, 0, NULL);
}
