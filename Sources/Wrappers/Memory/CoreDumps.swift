import Glibc

/// Core dumps, which would hold opened keys and the passwords of the servers.
package enum CoreDumps {
    /// One byte: less than any dump.
    ///
    /// Where the kernel pipes dumps to a program, it ignores a limit of 0, but not this one.
    private static let limit: rlim_t = 1

    /// Prevents them for this process; a lower limit stays.
    ///
    /// The process stays dumpable in the sense of prctl(2): otherwise it could not read its own
    /// descriptors in `/proc`, which its metrics count.
    package static func forbid() {
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        var limits = rlimit()
        guard unsafe getrlimit(resource, &limits) == 0 else { return }
        limits.rlim_max = min(limits.rlim_max, limit)
        limits.rlim_cur = limits.rlim_max
        // systemd's filter of system calls refuses it; the unit has set the limit then.
        _ = unsafe setrlimit(resource, &limits)
    }
}
