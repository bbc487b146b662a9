import ErrandThreads

extension Stop {
    /// Returns a stop that SIGTERM and SIGINT request, for programs that run a worker.
    ///
    /// After this call these signals no longer end the process: exit when ``Worker`` returns.
    public static func onTermination() -> Stop {
        let stop = Stop()
        Termination.onRequest { stop.stop() }
        return stop
    }
}
