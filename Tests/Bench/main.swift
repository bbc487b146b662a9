import FoundationEssentials
import Glibc

// The measuring programs behind scripts/bench, which knows their flags.
do {
    let flags = try Flags(Array(CommandLine.arguments.dropFirst()))
    switch flags.name {
    case "work": try await Programs.work(flags)
    case "enqueue": try await Programs.enqueue(flags)
    case "probe": try await Programs.probe(flags)
    case "raw-drain": try await RawLoops.drain(flags)
    case "raw-enqueue": try await RawLoops.enqueue(flags)
    case "raw-copy": try await RawLoops.copy(flags)
    case "raw-probe": try await RawProbe(flags).run()
    case "timetable": try Timetables.measure(flags)
    case "fan-out": try await FanOut.measure(flags)
    case "http": try await HTTPLoad.run(flags)
    case "push": try await PushLoad.run(flags)
    case "files": try FilesLoad.measure(flags)
    default: throw Flags.Wrong(description: "bench \(flags.name): no such measurement")
    }
} catch {
    let line = Array("bench: \(error)\n".utf8)
    _ = unsafe write(2, line, line.count)
    exit(1)
}
