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

static inline CURLcode errand_curl_set_bytes(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, which have one type.
static inline CURLcode errand_curl_set_listener(
    CURL *handle, CURLoption option, curl_write_callback listener) {
    return curl_easy_setopt(handle, option, listener);
}

static inline CURLcode errand_curl_set_opener(CURL *handle, curl_opensocket_callback opener) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, opener);
}

static inline CURLcode errand_curl_set_gate(CURL *handle, curl_prereq_callback gate) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, gate);
}

static inline CURLcode errand_curl_get_context(CURL *handle, void **value) {
    return curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)value);
}

static inline CURLMcode errand_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode errand_curl_multi_set_sockets(
    CURLM *multi, curl_socket_callback listener, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, listener) : code;
}

static inline CURLMcode errand_curl_multi_set_timer(
    CURLM *multi, curl_multi_timer_callback listener, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, listener) : code;
}
