// swift-tools-version: 6.2
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

/// A target of the folder `Sources/LAYER/NAME`: every one gets the same settings.
///
/// SwiftPM wants the names of targets unique over all packages of a program, hence the prefix.
func target(_ path: String, uses: [Target.Dependency] = []) -> Target {
    let folder = path.split(separator: "/").last.map(String.init) ?? path
    return .target(
        name: folder == "Errand" ? folder : "Errand\(folder)", dependencies: uses,
        path: "Sources/\(path)", swiftSettings: strict)
}

/// The tests in the folder `Tests/LAYER/NAME`; they always see the private servers of the tests.
func tests(_ path: String, of targets: [Target.Dependency]) -> Target {
    let folder = path.split(separator: "/").last.map(String.init) ?? path
    let prefix = folder == "Errand" ? "" : "Errand"
    return .testTarget(
        name: "\(prefix)\(folder)Tests", dependencies: targets + ["ErrandTestServices"],
        path: "Tests/\(path)", swiftSettings: strict)
}

let migrationFiles = [
    "001_jobs.sql",
    "002_enqueue.sql",
    "003_notifications.sql",
    "004_coupons.sql",
    "005_schedules.sql",
    "006_operations.sql",
    "007_activity.sql",
    "008_orders.sql",
    "009_bulk.sql",
    "010_listings.sql",
    "011_notices.sql",
    "012_mail.sql",
    "013_webhooks.sql",
    "014_codes.sql",
    "015_redeeming.sql",
    "016_coupon_life.sql",
    "017_ledger.sql",
    "018_rewards.sql",
    "019_payouts.sql",
    "020_closing.sql",
    "021_payout_changes.sql",
    "022_issuing.sql",
    "023_parked.sql",
    "024_votes.sql",
    "025_casting.sql",
    "026_closing_votes.sql",
    "027_counting.sql",
    "028_results.sql",
    "029_missions.sql",
    "030_hiring.sql",
    "031_offers.sql",
    "032_doing.sql",
    "033_reviewing.sql",
    "034_household.sql",
    "035_roommates.sql",
    "036_debts.sql",
    "037_paying.sql",
    "038_chores.sql",
    "039_turns.sql",
    "040_groceries.sql",
    "041_board.sql",
    "042_roles.sql",
]

let package = Package(
    name: "errand",
    products: [
        .executable(name: "errand", targets: ["ErrandProgram"]),
        .library(name: "Errand", targets: ["Errand", "ErrandPostgres", "ErrandRedis"]),
    ],
    targets: [
        // Floor 0: C libraries, no logic.
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

        // Floor 1: thin, safe Swift over them; pointers stop here.
        target("Wrappers/Threads", uses: ["CErrandSystem"]),
        target("Wrappers/Gregorian"),
        target("Wrappers/Postgres", uses: ["CErrandPostgres", "ErrandGregorian", "ErrandThreads"]),
        target("Wrappers/Redis", uses: ["CErrandRedis", "ErrandThreads"]),
        target("Wrappers/HTTP", uses: ["CErrandCurl", "CErrandSystem", "ErrandThreads"]),
        target("Wrappers/HTTPServer", uses: ["CErrandMicroHTTPD"]),
        target("Wrappers/Crypto", uses: ["CErrandCrypto"]),
        target("Wrappers/QRCode", uses: ["CErrandPNG", "CErrandQRCode"]),
        target("Wrappers/LatinText"),
        target("Basics/Matching"),
        target("Wrappers/PDF", uses: ["CErrandHaru", "ErrandGregorian", "ErrandLatinText"]),
        target("Basics/DurableFiles", uses: ["ErrandCrypto"]),
        target("Basics/Recurrence", uses: ["ErrandGregorian"]),
        target("Wrappers/RepeatRules", uses: ["CErrandICal", "ErrandGregorian"]),
        target("Basics/Terminal", uses: ["ErrandGregorian", "ErrandThreads"]),

        // Floor 2: the engine, delivery, the schema.
        .target(
            name: "ErrandMigrations", dependencies: ["ErrandPostgres"], path: "migrations",
            exclude: ["released.txt"],
            resources: migrationFiles.map { .embedInCode($0) }, swiftSettings: strict),
        // The words of notices in English; see EnglishNotices.swift for why a locale is a target.
        .target(
            name: "ErrandEnglishNotices", path: "Sources/Modules/EnglishNotices",
            resources: [.embedInCode("en")], swiftSettings: strict),
        target(
            "Engine/Errand",
            uses: ["ErrandPostgres", "ErrandRecurrence", "ErrandRedis", "ErrandThreads"]),
        target("Basics/Delivery", uses: ["ErrandCrypto", "ErrandHTTP"]),
        target("Basics/Sealing", uses: ["ErrandCrypto", "ErrandPostgres"]),
        target(
            "Basics/PaymentFiles",
            uses: [
                "ErrandCrypto", "ErrandDurableFiles", "ErrandGregorian", "ErrandLatinText",
                "ErrandPDF",
            ]),

        // Floors 3 and 4: the domains.
        target(
            "Modules/Notification",
            uses: [
                "ErrandCrypto", "ErrandEnglishNotices", "Errand", "ErrandDelivery",
                "ErrandGregorian", "ErrandPostgres",
                "ErrandRecurrence", "ErrandSealing",
            ]),
        target(
            "Modules/Ledger",
            uses: ["ErrandGregorian", "Errand", "ErrandPostgres", "ErrandRecurrence"]),
        target(
            "Modules/Coupons",
            uses: [
                "ErrandCrypto", "ErrandNotification", "Errand", "ErrandPostgres",
                "ErrandRecurrence", "ErrandSealing",
            ]),
        target(
            "Modules/Payouts",
            uses: [
                "ErrandCrypto", "ErrandDurableFiles", "ErrandGregorian", "Errand", "ErrandLedger",
                "ErrandNotification",
                "ErrandPaymentFiles", "ErrandPostgres", "ErrandRecurrence", "ErrandSealing",
            ]),
        target(
            "Modules/Votes",
            uses: [
                "ErrandCrypto", "Errand", "ErrandNotification", "ErrandPostgres",
                "ErrandRecurrence", "ErrandSealing",
            ]),

        target(
            "Modules/Missions",
            uses: [
                "Errand", "ErrandMatching", "ErrandNotification", "ErrandPostgres", "ErrandThreads",
            ]),

        target(
            "Modules/Household",
            uses: [
                "ErrandGregorian", "Errand", "ErrandNotification", "ErrandPostgres",
                "ErrandRecurrence", "ErrandRepeatRules",
            ]),

        target(
            "Operator/StatusPage",
            uses: ["ErrandHTTPServer", "Errand", "ErrandPostgres", "ErrandRedis", "ErrandThreads"]),

        // Floor 5: the command.
        .executableTarget(
            name: "ErrandProgram",
            dependencies: [
                "ErrandCoupons", "ErrandCrypto", "ErrandNotification", "ErrandDelivery",
                "ErrandDurableFiles", "ErrandGregorian",
                "ErrandHTTP", "ErrandHTTPServer", "ErrandHousehold", "Errand", "ErrandLedger",
                "ErrandMatching", "ErrandMigrations",
                "ErrandMissions", "ErrandPaymentFiles", "ErrandPayouts", "ErrandPostgres",
                "ErrandQRCode", "ErrandRecurrence", "ErrandRedis",
                "ErrandSealing", "ErrandStatusPage", "ErrandTerminal", "ErrandThreads",
                "ErrandVotes",
            ],
            path: "Sources/errand", swiftSettings: strict),

        // Tests and measurements.
        .target(
            name: "ErrandTestServices",
            dependencies: [
                "CErrandSystem", "ErrandCrypto", "ErrandPostgres", "ErrandRedis",
                "ErrandMigrations", "Errand",
            ],
            path: "Tests/Services", swiftSettings: strict),
        tests("Wrappers/Postgres", of: ["ErrandPostgres", "ErrandThreads"]),
        tests("Wrappers/Redis", of: ["ErrandRedis", "ErrandThreads"]),
        tests("Wrappers/HTTP", of: ["ErrandHTTP"]),
        tests("Wrappers/HTTPServer", of: ["ErrandHTTP", "ErrandHTTPServer"]),
        tests("Wrappers/Crypto", of: ["ErrandCrypto"]),
        tests("Basics/Sealing", of: ["ErrandCrypto", "ErrandPostgres", "ErrandSealing"]),
        tests("Wrappers/QRCode", of: ["ErrandQRCode"]),
        tests("Basics/Matching", of: ["ErrandMatching"]),
        tests("Wrappers/PDF", of: ["ErrandGregorian", "ErrandPDF"]),
        tests("Basics/DurableFiles", of: ["ErrandDurableFiles"]),
        tests(
            "Basics/PaymentFiles",
            of: ["ErrandDurableFiles", "ErrandGregorian", "ErrandLatinText", "ErrandPaymentFiles"]),
        tests("Basics/Recurrence", of: ["ErrandGregorian", "ErrandRecurrence"]),
        tests(
            "Wrappers/RepeatRules",
            of: ["ErrandGregorian", "ErrandRecurrence", "ErrandRepeatRules"]),
        tests("Basics/Terminal", of: ["ErrandTerminal"]),
        tests("Basics/Delivery", of: ["ErrandDelivery", "ErrandHTTP"]),
        tests(
            "Engine/Errand",
            of: ["Errand", "ErrandMigrations", "ErrandPostgres", "ErrandRecurrence", "ErrandRedis"]),
        tests(
            "Modules/Coupons",
            of: [
                "ErrandCoupons", "ErrandCrypto", "ErrandNotification", "ErrandDelivery", "Errand",
                "ErrandPostgres",
                "ErrandRecurrence",
            ]),
        tests(
            "Modules/Notification",
            of: [
                "ErrandCrypto", "ErrandEnglishNotices", "ErrandNotification", "ErrandDelivery",
                "ErrandGregorian", "Errand",
                "ErrandPostgres", "ErrandRecurrence", "ErrandSealing",
            ]),
        tests(
            "Modules/Ledger",
            of: ["ErrandGregorian", "Errand", "ErrandLedger", "ErrandPostgres", "ErrandRecurrence"]),
        tests(
            "Modules/Payouts",
            of: [
                "ErrandCrypto", "ErrandDurableFiles", "ErrandGregorian", "Errand", "ErrandLedger",
                "ErrandNotification",
                "ErrandPaymentFiles", "ErrandPayouts", "ErrandPostgres", "ErrandRecurrence",
                "ErrandSealing",
            ]),
        tests(
            "Modules/Votes",
            of: [
                "ErrandCrypto", "Errand", "ErrandNotification", "ErrandPostgres",
                "ErrandRecurrence", "ErrandSealing",
                "ErrandVotes",
            ]),
        tests(
            "Modules/MissionJobs",
            of: [
                "Errand", "ErrandMatching", "ErrandMissions", "ErrandNotification",
                "ErrandPostgres",
            ]
        ),
        tests("Modules/Missions", of: ["ErrandPostgres"]),
        tests("Modules/Household", of: ["ErrandPostgres"]),
        tests(
            "Modules/HouseholdJobs",
            of: [
                "ErrandGregorian", "ErrandHousehold", "Errand", "ErrandNotification",
                "ErrandPostgres", "ErrandRecurrence",
            ]),
        tests(
            "Operator/StatusPage",
            of: ["ErrandHTTPServer", "Errand", "ErrandPostgres", "ErrandStatusPage"]),
        tests("Operator/Command", of: ["ErrandHTTP", "ErrandPostgres", "ErrandRedis"]),
        tests("Crash", of: ["Errand", "ErrandMigrations", "ErrandPostgres", "ErrandRedis"]),
        .executableTarget(
            name: "ErrandBench",
            dependencies: [
                "ErrandDelivery", "ErrandDurableFiles", "ErrandGregorian", "ErrandHTTP", "Errand",
                "ErrandMigrations",
                "ErrandNotification", "ErrandPaymentFiles", "ErrandPostgres", "ErrandRecurrence",
                "ErrandRedis",
            ],
            path: "Tests/Bench", swiftSettings: strict),
    ]
)
