package import ErrandCommand

/// A template file: its path, such as `en/coupon.nearby.push.txt`, and its content.
package typealias NoticeText = (path: String, text: String)

/// A module with notices.
package protocol NotifyingModule: Module {
    /// The kinds of notice of the module, without their digests.
    var notices: [NoticeKind] { get }
    /// Their templates.
    var noticeTexts: [NoticeText] { get }
}

extension NoticeCatalogue {
    /// Returns the notices of the installed modules, with the templates in the folder that
    /// `ERRAND_NOTICES` names.
    ///
    /// - Throws: `CommandFailure` (usage) that names the file and its error.
    package static func of(_ setup: ModuleSetup) throws(CommandFailure) -> NoticeCatalogue {
        try of(setup.modules, environment: setup.environment)
    }

    /// Returns the notices of modules for a command.
    package static func of(
        _ modules: [any Module], environment: [String: String]
    ) throws(CommandFailure) -> NoticeCatalogue {
        let folder = environment["ERRAND_NOTICES"].flatMap { $0.isEmpty ? nil : $0 }
        do throws(TemplateError) {
            return try .of(modules.compactMap { $0 as? any NotifyingModule }, overrides: folder)
        } catch {
            throw CommandFailure(
                exit: .usage, message: "the notice templates are invalid: \(error)",
                hint: "correct the file in the folder that ERRAND_NOTICES names")
        }
    }
}
