import FoundationEssentials
import ErrandGregorian
import Synchronization

/// The time zones of this machine, from the files of the package tzdata.
///
/// Those files are updated under running processes: call `refresh` now and then.
public final class ZoneDatabase: Sendable {
    /// Where systems keep the files.
    private static let usualFolders = [
        "/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo",
    ]
    /// More than ten times the largest zone.
    private static let sizeLimit = 1 << 16

    /// What TZDIR says, if it is set.
    private let chosen: String?
    private let usual: [String]
    private let state = Mutex(State())

    private struct State {
        var source: ZoneSource?
        var zones: [String: LoadedZone] = [:]
        var version: String?
        var catalogue: ZoneCatalogue?
    }

    private struct LoadedZone {
        var zone: Zone
        var file: String
        var stamp: FileStamp
    }

    /// The zones that this process uses.
    public convenience init() { self.init(environment: ProcessInfo.processInfo.environment) }

    /// The zones that a process with this environment uses.
    public convenience init(environment: [String: String]) {
        self.init(environment: environment, usual: Self.usualFolders)
    }

    /// The zones of TZDIR or, without it, of the first of the usual folders that has some.
    init(environment: [String: String], usual: [String]) {
        chosen = environment["TZDIR"].flatMap { $0.isEmpty ? nil : $0 }
        self.usual = usual
    }

    private var searched: [String] { (chosen.map { [$0] } ?? []) + usual }

    private func locate() -> ZoneSource? {
        if let chosen, let source = ZoneSource(folder: chosen, isChosen: true) { return source }
        return usual.lazy.compactMap { ZoneSource(folder: $0, isChosen: false) }.first
    }

    /// The source in use; while there is none, it is looked for.
    private var source: ZoneSource? {
        state.withLock { state in
            if state.source == nil { state.source = locate() }
            return state.source
        }
    }

    /// Where the zones come from; nil when this machine has none.
    public var folder: String? { source?.folder }

    /// Which release of tzdata they are, such as `2026f`; `none` when this machine has none.
    ///
    /// Packages that do not say it are dated by their files: `unknown (as of 2026-09-30)`.
    public var version: String {
        guard let source else { return "none" }
        if let known = state.withLock({ $0.source == source ? $0.version : nil }) { return known }
        let version = source.readVersion()
        state.withLock { if $0.source == source { $0.version = version } }
        return version
    }

    /// The names that are listed, ascending; links too, abbreviations not.
    public var names: [String] { catalogue.names }

    private var catalogue: ZoneCatalogue {
        guard let source else { return ZoneCatalogue() }
        if let known = state.withLock({ $0.source == source ? $0.catalogue : nil }) {
            return known
        }
        let catalogue = source.readCatalogue()
        state.withLock { if $0.source == source { $0.catalogue = catalogue } }
        return catalogue
    }

    /// Forgets everything if the files on disk are no longer those that were read.
    ///
    /// It looks at the version's file and those of the zones in use without reading them. Should
    /// the database have gone altogether, what is known of it stays in use.
    /// - Returns: whether something changed, so that what was computed must be computed again.
    @discardableResult
    public func refresh() -> Bool {
        guard let now = locate() else { return false }
        let (before, zones) = state.withLock { ($0.source, $0.zones) }
        let isSame =
            now == before
            && zones.values.allSatisfy { FileStamp(path: $0.file) == $0.stamp }
        if isSame { return false }
        state.withLock { $0 = State(source: now) }
        return true
    }

    /// The zone with an IANA name, which may be a link such as Canada/Eastern.
    ///
    /// - Throws: what is wrong with the name, or with the database. `UTC` needs no database.
    public func zone(named name: String) throws(ZoneError) -> Zone {
        if let known = state.withLock({ $0.zones[name]?.zone }) { return known }
        if ZoneName.universal.contains(name) { return Zone(name: name, table: Zone.utc.table) }
        try ZoneName.check(name)
        guard let source else { throw .noDatabase(searched: searched) }
        guard ZoneName.isSafe(name) else { throw unknown(name) }
        if let loaded = try load(name, from: name, in: source) { return keep(loaded, source) }
        // Some systems leave out the files of old names, but their tables still know them.
        if let target = catalogue.links[name], ZoneName.isSafe(target),
            let loaded = try load(name, from: target, in: source)
        {
            return keep(loaded, source)
        }
        guard locate() != nil else { throw .noDatabase(searched: searched) }
        throw unknown(name)
    }

    private func unknown(_ name: String) -> ZoneError {
        .unknown(name, suggestion: catalogue.nearest(to: name))
    }

    private func keep(_ loaded: LoadedZone, _ source: ZoneSource) -> Zone {
        state.withLock { if $0.source == source { $0.zones[loaded.zone.name] = loaded } }
        return loaded.zone
    }

    /// Reads a file; nil if it is absent.
    private func load(
        _ name: String, from file: String, in source: ZoneSource
    ) throws(ZoneError) -> LoadedZone? {
        let path = source.folder + "/" + file
        let content: StampedFile
        do {
            content = try StampedFile(path: path, upTo: Self.sizeLimit)
        } catch {
            switch error {
            case .absent: return nil
            case .folder: throw .area(name, example: catalogue.first(in: name))
            case .other(let reason): throw .unreadable(file: path, reason: reason)
            }
        }
        do {
            let table = try ZoneFile.table(of: content.bytes)
            return LoadedZone(
                zone: Zone(name: name, table: table), file: path, stamp: content.stamp)
        } catch {
            throw .malformed(file: path, problem: error.description)
        }
    }
}

extension ZoneDatabase {
    /// The problem with the zones that an operator should fix, in one sentence; nil if there is
    /// none.
    ///
    /// The test is America/Vancouver on 2026-12-01, which is at -07:00 since release 2026b.
    public var finding: String? {
        let vancouver: Zone
        do {
            vancouver = try zone(named: "America/Vancouver")
        } catch {
            return error.description
        }
        if let chosen, folder != chosen {
            return "TZDIR is \(chosen), which holds no time zones; "
                + "those of \(folder ?? "nowhere") are used"
        }
        let noon = CivilDate(year: 2026, month: 12, day: 1).daysSince1970 * 86_400 + 43_200
        guard vancouver.segment(at: noon).offset != -7 * 3600 else { return nil }
        return "the time zones are of release \(version), which is too old: it has "
            + "America/Vancouver at \(LocalTime(noon, in: vancouver).offsetText) instead of "
            + "-07:00 on 2026-12-01; upgrade the package tzdata to 2026b or later"
    }
}
