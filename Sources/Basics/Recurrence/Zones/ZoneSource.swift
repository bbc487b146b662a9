import FoundationEssentials
import ErrandGregorian

/// A folder of compiled zones in the state that it was found in.
struct ZoneSource: Equatable, Sendable {
    let folder: String
    /// The file that every release changes, or the folder itself where there is none.
    private let marker: String
    private let stamp: FileStamp

    /// The most precise first; the last two show a change, but not which release it is.
    private static let markers = ["tzdata.zi", "+VERSION", "zone1970.tab", "zone.tab"]

    /// Nil when nothing shows that the folder holds zones.
    ///
    /// A folder that was chosen by TZDIR is believed to hold some as soon as it is there.
    init?(folder: String, isChosen: Bool) {
        self.folder = folder
        for name in Self.markers {
            guard let stamp = FileStamp(path: folder + "/" + name), !stamp.isFolder else {
                continue
            }
            marker = folder + "/" + name
            self.stamp = stamp
            return
        }
        guard let stamp = FileStamp(path: folder), stamp.isFolder else { return nil }
        guard isChosen || FileStamp(path: folder + "/Etc/UTC") != nil else { return nil }
        marker = folder
        self.stamp = stamp
    }

    private func content(of name: String, upTo limit: Int = 1 << 22) -> [UInt8]? {
        do {
            return try StampedFile(path: folder + "/" + name, upTo: limit).bytes
        } catch {
            return nil
        }
    }

    /// The release, from the first line of `tzdata.zi` or from `+VERSION`.
    func readVersion() -> String {
        let said = "# version "
        let line = firstLine(of: "tzdata.zi")
        if line.hasPrefix(said) { return String(line.dropFirst(said.count)) }
        let version = firstLine(of: "+VERSION")
        guard version.isEmpty else { return version }
        let seconds = [marker, folder + "/Etc/UTC", folder + "/zone.tab", folder + "/tzdata.zi"]
            .compactMap { FileStamp(path: $0)?.modifiedSecond }
        let newest = CivilDate(daysSince1970: (seconds.max() ?? 0).dividedDown(by: 86_400))
        return "unknown (as of \(newest.text))"
    }

    private func firstLine(of name: String) -> String {
        let line = (content(of: name, upTo: 80) ?? []).prefix { (32..<127).contains($0) }
        return String(decoding: line, as: UTF8.self)
    }

    /// The names that are listed, as far as their files are there.
    func readCatalogue() -> ZoneCatalogue {
        let catalogue: ZoneCatalogue
        if let bytes = content(of: "tzdata.zi") {
            catalogue = ZoneCatalogue(tzdata: bytes)
        } else if let bytes = content(of: "zone1970.tab") ?? content(of: "zone.tab") {
            catalogue = ZoneCatalogue(table: bytes)
        } else {
            catalogue = ZoneCatalogue(
                paths: (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? [])
        }
        func isFile(_ name: String) -> Bool {
            FileStamp(path: folder + "/" + name).map { !$0.isFolder } ?? false
        }
        return catalogue.keeping { name in
            ZoneName.universal.contains(name) || isFile(name)
                || catalogue.links[name].map(isFile) ?? false
        }
    }
}
