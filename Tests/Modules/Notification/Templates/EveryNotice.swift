import ErrandNotification
import ErrandTestServices

/// The notices of all modules, and those of the account.
enum EveryNotice {
    static let modules = AllModules.all.compactMap { $0 as? any NotifyingModule }
    static let catalogue: NoticeCatalogue = {
        do { return try .of(modules) } catch { fatalError("\(error)") }
    }()
    static let kinds = catalogue.kinds.values.sorted { $0.name < $1.name }
    static let texts = modules.flatMap(\.noticeTexts)
}

extension NoticeKind.App {
    static let survey = NoticeKind.App("survey", needsAge: true)
    static let vote = NoticeKind.App("vote")
    static let household = NoticeKind.App("household")
    static let places = NoticeKind.App("places")
}
