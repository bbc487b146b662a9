package import ErrandCommand

/// A file of words: its path as `en/coupon.nearby.push.txt`, and what it holds.
package typealias NoticeText = (path: String, text: String)

/// A module that has people told of things.
package protocol NotifyingModule: Module {
    /// The kinds of notice that it records, without their digests.
    var notices: [NoticeKind] { get }
    /// How these read.
    var noticeTexts: [NoticeText] { get }
}

extension NoticeCatalogue {
    /// The notices of the modules that take part, in an operator's own words where
    /// `ERRAND_NOTICES` names a folder of them.
    ///
    /// - Throws: `CommandFailure` (usage) that names the file and what is wrong with it.
    package static func of(_ setup: ModuleSetup) throws(CommandFailure) -> NoticeCatalogue {
        try of(setup.modules, environment: setup.environment)
    }

    /// The same for a command.
    package static func of(
        _ modules: [any Module], environment: [String: String]
    ) throws(CommandFailure) -> NoticeCatalogue {
        let folder = environment["ERRAND_NOTICES"].flatMap { $0.isEmpty ? nil : $0 }
        do throws(TemplateError) {
            return try .of(modules.compactMap { $0 as? any NotifyingModule }, overrides: folder)
        } catch {
            throw CommandFailure(
                exit: .usage, message: "the words of notices are not right: \(error)",
                hint: "correct the file in the folder that ERRAND_NOTICES names")
        }
    }
}
