package import ErrandPostgres

/// Builds the rows of a COPY in PostgreSQL's binary form, for `JobClient.copy`.
package struct BulkRows {
    /// The columns of one row besides the arguments.
    package struct Job {
        package var queue: String
        package var kind: String
        package var version: Int
        package var priority: Int16
        package var maxAttempts: Int16
        package var runAt: Instant?
        package var notAfter: Instant?
        package var tags: [String] = []
        /// ``JobOverrides`` as JSON.
        package var overrides: [UInt8]?

        package init(
            queue: String, kind: String, version: Int, priority: Int16, maxAttempts: Int16
        ) {
            self.queue = queue
            self.kind = kind
            self.version = version
            self.priority = priority
            self.maxAttempts = maxAttempts
        }

        /// Creates the columns that all rows of one shape share.
        package init(_ shape: EnqueueShape) {
            self.init(
                queue: shape.lane.queue, kind: shape.lane.kind, version: shape.lane.version,
                priority: shape.priority, maxAttempts: shape.maxAttempts)
            overrides = shape.overrides
        }
    }

    private var bytes: [UInt8] = []
    private var hasBegun = false

    package init() {}

    package var size: Int { bytes.count }

    /// Adds one job; `args` must be valid JSON.
    ///
    /// - Parameter now: the earliest allowed due time.
    package mutating func add(_ job: Job, args: ArraySlice<UInt8>, now: Instant) {
        begin()
        append(Int16(10))
        append(text: job.queue)
        append(text: job.kind)
        append(field: Int16(job.version))
        append(field: job.priority)
        append(field: job.maxAttempts)
        append(field: max(job.runAt ?? now, now).microseconds)
        if let notAfter = job.notAfter {
            append(field: notAfter.microseconds)
        } else {
            append(Int32(-1))
        }
        append(tags: job.tags)
        if let overrides = job.overrides {
            append(json: overrides[...])
        } else {
            append(Int32(-1))
        }
        append(json: args)
    }

    /// Returns the bytes built since the last call.
    package mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// Ends the stream and returns the rest.
    ///
    /// Every stream needs it, even one without rows.
    package mutating func end() -> [UInt8] {
        begin()
        append(Int16(-1))
        return take()
    }

    private mutating func begin() {
        guard !hasBegun else { return }
        bytes += "PGCOPY\n".utf8
        bytes += [0xFF, 0x0D, 0x0A, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        hasBegun = true
    }

    private mutating func append(tags: [String]) {
        guard !tags.isEmpty else {
            append(Int32(-1))
            return
        }
        let length = 20 + tags.reduce(0) { $0 + 4 + $1.utf8.count }
        append(Int32(length))
        append(Int32(1))
        append(Int32(0))
        append(Int32(25))
        append(Int32(tags.count))
        append(Int32(1))
        for tag in tags { append(text: tag) }
    }

    /// Appends a value of jsonb: its version, then the text.
    private mutating func append(json: ArraySlice<UInt8>) {
        append(Int32(json.count + 1))
        bytes.append(1)
        bytes += json
    }

    private mutating func append(text: String) {
        append(Int32(text.utf8.count))
        bytes += text.utf8
    }

    private mutating func append(field value: some FixedWidthInteger) {
        append(Int32(value.bitWidth / 8))
        append(value)
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        var shift = value.bitWidth - 8
        while shift >= 0 {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
            shift -= 8
        }
    }
}
