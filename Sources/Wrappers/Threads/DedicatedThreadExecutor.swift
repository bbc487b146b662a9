import CErrandSystem
import Synchronization

/// A thread that runs only the jobs of the actors bound to it, one after the other.
///
/// C libraries such as libpq and hiredis block. An actor that names an `DedicatedThreadExecutor` as
/// its executor may call them from its methods: only its own thread waits, never the cooperative
/// pool (which has as many threads as the machine has cores).
///
/// While idle, the thread waits for new work and, if requested, for one file descriptor to become
/// readable (``watch(_:onReadable:)``). An idle PostgreSQL session receives a NOTIFY this way.
public final class DedicatedThreadExecutor: SerialExecutor, Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var isWaiting = false
        var isStopping = false
        var hasEnded = false
        var watched: Watched?
        var handle = pthread_t()
    }

    private struct Watched {
        var descriptor: Int32
        var onReadable: @Sendable () -> Void
    }

    private let state = Mutex(State())
    private let wakeDescriptor: Int32

    /// Starts the thread.
    ///
    /// - Parameter name: the name in `top -H` and debuggers; the kernel keeps 15 bytes of it.
    public init(name: String) {
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        precondition(wakeDescriptor >= 0, "no file descriptor left for a thread's wake-up")
        start(name: name)
    }

    /// The executor for an actor's `unownedExecutor`.
    ///
    /// The runtime does not retain it: the actor must keep the thread in a stored property.
    @safe public var executor: UnownedSerialExecutor { unsafe asUnownedSerialExecutor() }

    /// Queues one job of an actor; called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let mustWake = state.withLock { state in
            state.jobs.append(unowned)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if mustWake { wake() }
    }

    /// Confirms to the runtime that the caller is on this thread, as in `onReadable`.
    public func checkIsolated() {
        precondition(
            pthread_equal(state.withLock { $0.handle }, pthread_self()) != 0,
            "called from outside the actor's own thread")
    }

    /// Calls `onReadable` on this thread when it is idle and `descriptor` has input.
    ///
    /// The callback must consume the input, or it is called again at once. There is one descriptor
    /// at a time; nil ends the watch.
    public func watch(_ descriptor: Int32?, onReadable: @escaping @Sendable () -> Void = {}) {
        state.withLock { state in
            state.watched = descriptor.map { Watched(descriptor: $0, onReadable: onReadable) }
            state.isWaiting = false
        }
        wake()
    }

    /// Ends the thread after the jobs queued so far.
    ///
    /// Call it when no actor uses the executor, as in the `deinit` of its only one.
    public func stop() {
        state.withLock { $0.isStopping = true }
        wake()
    }

    private func wake() {
        state.withLock { state in
            // The descriptor's number may have been reused.
            guard !state.hasEnded else { return }
            var one: UInt64 = 1
            _ = unsafe write(wakeDescriptor, &one, 8)
        }
    }

    private func start(name: String) {
        let box = unsafe Unmanaged.passRetained(StartBox(thread: self, name: name))
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setstacksize(&attributes, 512 * 1024)
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var handle = pthread_t()
        let code = unsafe pthread_create(
            &handle, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let box = unsafe Unmanaged<StartBox>.fromOpaque(argument).takeRetainedValue()
                unsafe pthread_setname_np(pthread_self(), String(box.name.prefix(15)))
                box.thread.loop()
                return nil
            }, unsafe box.toOpaque())
        precondition(code == 0, "the system refused one more thread (error \(code))")
        unsafe pthread_attr_destroy(&attributes)
    }

    /// The argument of a new thread; it keeps the executor alive until the loop ends.
    private final class StartBox {
        let thread: DedicatedThreadExecutor
        let name: String

        init(thread: DedicatedThreadExecutor, name: String) {
            self.thread = thread
            self.name = name
        }
    }

    private func loop() {
        state.withLock { $0.handle = pthread_self() }
        var batch: [UnownedJob] = []
        while true {
            let (ended, watched) = state.withLock { state -> (Bool, Watched?) in
                swap(&batch, &state.jobs)
                state.isWaiting = batch.isEmpty && !state.isStopping
                return (batch.isEmpty && state.isStopping, state.watched)
            }
            if ended { break }
            guard batch.isEmpty else {
                for job in batch {
                    unsafe job.runSynchronously(on: asUnownedSerialExecutor())
                }
                batch.removeAll(keepingCapacity: true)
                continue
            }
            wait(watching: watched)
        }
        state.withLock { state in
            state.hasEnded = true
            close(wakeDescriptor)
        }
    }

    private func wait(watching watched: Watched?) {
        var descriptors = [
            pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watched?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        guard unsafe poll(&descriptors, 2, -1) > 0 else { return }
        if descriptors[0].revents != 0 {
            var count: UInt64 = 0
            _ = unsafe read(wakeDescriptor, &count, 8)
        }
        guard descriptors[1].revents != 0, let watched else { return }
        // The watch may have ended while the thread slept, and the descriptor closed with it.
        let isCurrent = state.withLock { $0.watched?.descriptor == watched.descriptor }
        if isCurrent { watched.onReadable() }
    }
}
