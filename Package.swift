// swift-tools-version: 6.2
import Foundation
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
]

/// A system library; `folder` below `Sources/C` holds its module map.
func system(_ folder: String, pkgConfig: String? = nil, apt package: String? = nil) -> Target {
    .systemLibrary(
        name: "CErrand\(folder)", path: "Sources/C/\(folder)", pkgConfig: pkgConfig,
        providers: package.map { [.apt([$0])] })
}

/// Targets by short names: `Errand` is the engine, `Postgres` is `ErrandPostgres`, and `CPostgres`
/// is `CErrandPostgres`.
///
/// SwiftPM wants names of targets unique over all packages of a program, hence
/// the prefix.
func dependencies(_ names: String) -> [Target.Dependency] {
    names.split(separator: " ").map { name in
        let isSystem = name.first == "C" && name.dropFirst().first?.isUppercase == true
        return .byName(
            name: name == "Errand"
                ? "Errand" : isSystem ? "CErrand\(name.dropFirst())" : "Errand\(name)")
    }
}

func lastPart(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
}

/// A target of the folder `Sources/FLOOR/NAME`: every one gets the same settings.
func target(_ path: String, uses: String = "", plugins: [Target.PluginUsage] = []) -> Target {
    let folder = lastPart(path)
    // Texts of notices are embedded by the plugin.
    let texts = "Sources/\(path)/Notices/en"
    return .target(
        name: folder == "Errand" ? folder : "Errand\(folder)", dependencies: dependencies(uses),
        path: "Sources/\(path)",
        exclude: FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(texts)")
            ? ["Notices/en"] : [],
        swiftSettings: strict, plugins: plugins)
}

/// A module with SQL of its own in `migrations`.
func module(_ name: String, uses: String) -> Target {
    target("Modules/\(name)", uses: uses, plugins: ["ErrandEmbedSQL"])
}

/// The tests in the folder `Tests/FLOOR/NAME`; they always see the private servers of the tests.
func tests(_ path: String, of targets: String) -> Target {
    let folder = lastPart(path)
    return .testTarget(
        name: folder == "Errand" ? "ErrandTests" : "Errand\(folder)Tests",
        dependencies: dependencies(targets + " TestServices"),
        path: "Tests/\(path)", swiftSettings: strict)
}

let package = Package(
    name: "errand",
    products: [
        .executable(name: "errand", targets: ["ErrandProgram"]),
        .library(name: "Errand", targets: ["Errand"]),
        .library(name: "ErrandCommand", targets: ["ErrandCommand"]),
        .plugin(name: "ErrandEmbedSQL", targets: ["ErrandEmbedSQL"]),
    ],
    targets: [
        // C libraries, no logic.
        system("Postgres", pkgConfig: "libpq", apt: "libpq-dev"),
        system("Redis", apt: "libhiredis-dev"),
        system("Curl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        system("Crypto", pkgConfig: "libcrypto", apt: "libssl-dev"),
        system("QRCode", pkgConfig: "libqrencode", apt: "libqrencode-dev"),
        system("PNG", pkgConfig: "libpng", apt: "libpng-dev"),
        system("Haru", apt: "libhpdf-dev"),
        system("ICal", apt: "libical-dev"),
        system("MicroHTTPD", apt: "libmicrohttpd-dev"),
        system("System"),

        // Thin, safe Swift over them; pointers stop here.
        target("Wrappers/Threads", uses: "CSystem"),
        target("Wrappers/Memory", uses: "CSystem"),
        target("Wrappers/Gregorian"),
        target("Wrappers/LatinText"),
        target("Wrappers/Postgres", uses: "CPostgres Gregorian Threads"),
        target("Wrappers/Redis", uses: "CRedis Threads"),
        target("Wrappers/HTTP", uses: "CCurl CSystem Threads"),
        target("Wrappers/HTTPServer", uses: "CMicroHTTPD"),
        target("Wrappers/PrivateFiles"),
        target("Wrappers/Crypto", uses: "CCrypto PrivateFiles"),
        target("Wrappers/QRCode", uses: "CPNG CQRCode"),
        target("Wrappers/PDF", uses: "CHaru Gregorian LatinText"),
        target("Wrappers/RepeatRules", uses: "CICal Gregorian"),

        // What engine and modules are built from; it knows neither.
        target("Basics/JSONText"),
        target("Basics/Matching"),
        target("Basics/DurableFiles", uses: "Crypto"),
        target("Basics/Recurrence", uses: "Gregorian"),
        target("Basics/Terminal", uses: "Gregorian JSONText PrivateFiles Threads"),
        target("Basics/Delivery", uses: "Crypto HTTP JSONText PrivateFiles"),
        target("Basics/Sealing", uses: "Crypto Postgres"),
        target("Basics/PaymentFiles", uses: "Crypto DurableFiles Gregorian LatinText PDF"),

        // The job queue; it knows no module.
        target(
            "Engine/Errand", uses: "Memory Postgres Recurrence Redis Threads",
            plugins: ["ErrandEmbedSQL"]),

        // What operators read and change; no part of the library's own API.
        target("Engine/Administration", uses: "Errand JSONText Postgres Recurrence Redis"),

        // What programs made of modules are run and operated by.
        target(
            "Operator/StatusPage",
            uses: "Administration Errand HTTPServer Postgres Redis Threads"),
        target(
            "Operator/Command",
            uses: "Administration Errand Gregorian HTTP HTTPServer JSONText Memory Postgres "
                + "Recurrence Redis StatusPage Terminal Threads"),

        // The modules.
        module("People", uses: "Command Errand Postgres Terminal"),
        target("Modules/Keys", uses: "Command Crypto Errand Postgres Sealing Terminal"),
        module(
            "Custody",
            uses: "Administration Command Crypto DurableFiles Errand Keys People Postgres "
                + "PrivateFiles Redis Sealing Terminal"),
        target("Modules/Demo", uses: "Command Errand Postgres"),
        module(
            "Notification",
            uses: "Command Crypto Delivery Errand Gregorian JSONText Keys Postgres Recurrence "
                + "Sealing Terminal"),
        module(
            "Accounts", uses: "Command Errand Notification People Postgres Terminal"),
        module("Ledger", uses: "Command Errand Gregorian Postgres Recurrence Terminal"),
        module(
            "Payouts",
            uses: "Command Crypto DurableFiles Errand Gregorian JSONText Keys Ledger "
                + "Notification PaymentFiles People Postgres Recurrence Sealing Terminal"),
        module("Establishments", uses: "Command Errand Postgres Terminal"),
        module(
            "Coupons",
            uses: "Command Crypto Errand Keys Notification Postgres QRCode Sealing Terminal"),
        module(
            "Missions",
            uses: "Command Errand Gregorian JSONText Ledger Matching Notification Postgres "
                + "Terminal Threads"),
        module(
            "Votes",
            uses: "Command Crypto Errand Keys Notification Postgres Recurrence Sealing Terminal"),
        module(
            "Household",
            uses: "Command Errand Gregorian Ledger Notification Postgres Recurrence RepeatRules "
                + "Terminal"),
        module(
            "Badges",
            uses: "Command Errand Notification Postgres Terminal"),
        module(
            "Surveys",
            uses: "Command Crypto Errand JSONText Keys Ledger Notification Postgres QRCode "
                + "Sealing Terminal"),
        module(
            "Reports",
            uses: "Command Crypto DurableFiles Errand Gregorian JSONText Ledger Notification "
                + "PaymentFiles PDF Postgres Terminal"),
        module(
            "News",
            uses: "Command Errand Notification Postgres Recurrence Terminal"),
        module(
            "Inquiries",
            uses: "Command Errand Notification Postgres Terminal"),

        // The program: a list of modules.
        .executableTarget(
            name: "ErrandProgram",
            dependencies: dependencies(
                "Accounts Badges Command Coupons Custody Demo Establishments Household Inquiries "
                    + "Keys Ledger Missions News Notification Payouts People Reports Surveys "
                    + "Votes"),
            path: "Sources/errand", swiftSettings: strict),
        .plugin(
            name: "ErrandEmbedSQL", capability: .buildTool(), path: "Plugins/EmbedSQL"),

        // Tests and measurements.
        .target(
            name: "ErrandTestServices",
            dependencies: dependencies(
                "Accounts Badges CSystem Command Coupons Crypto Custody Demo Errand "
                    + "Establishments Household Inquiries Keys Ledger Missions News Notification "
                    + "Payouts People Postgres Redis Reports Surveys Votes"),
            path: "Tests/Services", swiftSettings: strict),
        tests("Wrappers/Memory", of: "Memory"),
        tests("Wrappers/Postgres", of: "Postgres Threads"),
        tests("Wrappers/Redis", of: "Redis Threads"),
        tests("Wrappers/HTTP", of: "HTTP"),
        tests("Wrappers/HTTPServer", of: "HTTP HTTPServer"),
        tests("Wrappers/Crypto", of: "Crypto"),
        tests("Wrappers/QRCode", of: "QRCode"),
        tests("Wrappers/PDF", of: "Gregorian PDF"),
        tests("Wrappers/RepeatRules", of: "Gregorian Recurrence RepeatRules"),
        tests("Basics/JSONText", of: "JSONText Postgres"),
        tests("Basics/Matching", of: "Matching"),
        tests("Basics/DurableFiles", of: "DurableFiles"),
        tests("Basics/Recurrence", of: "Gregorian Recurrence"),
        tests("Basics/Terminal", of: "JSONText Terminal"),
        tests("Basics/Delivery", of: "Delivery HTTP"),
        tests("Basics/Sealing", of: "Crypto Postgres Sealing"),
        tests("Basics/PaymentFiles", of: "DurableFiles Gregorian LatinText PaymentFiles"),
        tests("Engine/Errand", of: "Administration Demo Errand JSONText Postgres Recurrence Redis"),
        tests("Operator/StatusPage", of: "Administration Errand HTTPServer Postgres StatusPage"),
        tests("Operator/Command", of: "Administration Command Errand HTTP Postgres Redis"),
        tests("Modules/People", of: "Errand People Postgres"),
        tests(
            "Modules/Notification",
            of:
                "Administration Coupons Crypto Delivery Errand Gregorian Household Missions "
                + "Notification Payouts "
                + "Postgres Recurrence Sealing Votes"),
        tests(
            "Modules/Accounts",
            of: "Accounts Administration Command Crypto Delivery Errand Notification Postgres"),
        tests("Modules/Ledger", of: "Errand Gregorian Ledger Postgres Recurrence"),
        tests("Modules/Establishments", of: "Errand Postgres"),
        tests("Modules/Badges", of: "Badges Coupons Errand Notification Postgres"),
        tests(
            "Modules/Payouts",
            of:
                "Administration Crypto DurableFiles Errand Gregorian Ledger Notification "
                + "PaymentFiles Payouts "
                + "Postgres Recurrence Sealing"),
        tests(
            "Modules/Coupons",
            of: "Administration Coupons Crypto Delivery Errand Notification Postgres Recurrence"),
        tests(
            "Modules/Votes",
            of: "Administration Crypto Errand Keys Notification Postgres Recurrence Sealing "
                + "Votes"),
        tests(
            "Modules/Missions",
            of: "Administration Errand Matching Missions Notification Postgres"),
        tests(
            "Modules/Surveys",
            of: "Administration Coupons Crypto Errand Keys Missions Notification Postgres "
                + "Recurrence Sealing Surveys"),
        tests(
            "Modules/Reports",
            of: "Administration Crypto DurableFiles Errand Gregorian Ledger Notification Postgres "
                + "Reports"),
        tests(
            "Modules/Household",
            of: "Administration Errand Gregorian Household Notification Postgres Recurrence "
                + "RepeatRules"),
        tests(
            "Modules/News",
            of: "Administration Errand News Notification Postgres"),
        tests(
            "Modules/Inquiries",
            of: "Administration Errand Inquiries Notification Postgres"),
        tests("Modules/Custody", of: "Command Crypto Errand Postgres"),
        tests("Documentation", of: "Command Demo Errand Keys Postgres Terminal"),
        tests("Examples", of: "HTTP Postgres"),
        tests("Crash", of: "Administration Demo Errand Postgres Redis"),
        .executableTarget(
            name: "ErrandBench",
            dependencies: dependencies(
                "Delivery DurableFiles Errand Gregorian HTTP Notification PaymentFiles Postgres "
                    + "Recurrence Redis"),
            path: "Tests/Bench", swiftSettings: strict),
    ]
)
