#pragma once
#include <curl/curl.h>

// Swift cannot call variadic functions: one typed door for each type of argument.

static inline CURLcode errand_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode errand_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode errand_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode errand_curl_set_context(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode errand_curl_set_list(
    CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode errand_curl_set_reader(CURL *handle, curl_read_callback reader) {
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, reader);
}

static inline CURLcode errand_curl_set_debugger(CURL *handle, curl_debug_callback debugger) {
    return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, debugger);
}

static inline CURLcode errand_curl_set_progress(CURL *handle, curl_xferinfo_callback progress) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress);
}

static inline CURLcode errand_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}
