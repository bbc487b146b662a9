import FoundationEssentials
import Glibc

/// The standard process metrics of Prometheus clients, read from the operating system.
struct ProcessMetrics: Sendable {
    /// The metrics; unavailable ones (on systems other than Linux) are left out.
    static func families() -> [MetricFamily] {
        var families: [MetricFamily] = []
        if let stat = Stat() {
            families = [
                MetricFamily(
                    "process_cpu_seconds", .counter,
                    "Total user and system CPU time in seconds", stat.cpu),
                MetricFamily(
                    "process_resident_memory_bytes", .gauge, "Resident memory size in bytes",
                    stat.resident),
                MetricFamily(
                    "process_virtual_memory_bytes", .gauge, "Virtual memory size in bytes",
                    stat.virtual),
                MetricFamily("process_threads", .gauge, "Threads of this process", stat.threads),
            ]
            if let boot = bootTime() {
                families.append(
                    MetricFamily(
                        "process_start_time_seconds", .gauge,
                        "Start time of this process in seconds since 1970", boot + stat.started))
            }
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            // Reading the directory opens one more.
            families.append(
                MetricFamily(
                    "process_open_fds", .gauge, "Number of open file descriptors",
                    Double(open.count - 1)))
        }
        let limit = sysconf(Int32(_SC_OPEN_MAX))
        if limit >= 0 {
            families.append(
                MetricFamily(
                    "process_max_fds", .gauge, "Maximum number of open file descriptors",
                    Double(limit)))
        }
        return families
    }

    /// The numbers of `/proc/self/stat` (proc(5)).
    struct Stat {
        /// Seconds.
        var cpu: Double
        /// Bytes.
        var resident: Double
        var virtual: Double
        var threads: Double
        /// Seconds since the boot.
        var started: Double

        init?() {
            guard let text = ProcessMetrics.text("/proc/self/stat"),
                // The command's name may contain spaces and parentheses.
                let end = text.lastIndex(of: ")")
            else { return nil }
            let fields = text[text.index(after: end)...].split(separator: " ")
            // `fields` starts with the third field.
            func number(_ place: Int) -> Double? {
                fields.indices.contains(place - 3) ? Double(fields[place - 3]) : nil
            }
            let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
            guard ticks > 0, let user = number(14), let system = number(15),
                let threads = number(20), let started = number(22), let virtual = number(23),
                let pages = number(24)
            else { return nil }
            cpu = (user + system) / ticks
            resident = pages * Double(sysconf(Int32(_SC_PAGESIZE)))
            self.virtual = virtual
            self.threads = threads
            self.started = started / ticks
        }
    }

    /// The boot time of the machine in seconds since 1970.
    private static func bootTime() -> Double? {
        let line = text("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
        return line.flatMap { Double($0.dropFirst(6)) }
    }

    private static func text(_ path: String) -> String? {
        (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
    }
}
