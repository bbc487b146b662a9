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

/// One room of the package: every target gets the same settings.
func room(_ name: String, uses: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: uses, swiftSettings: strict)
}

/// The tests of one room; they always see the private servers of `TestServices`.
func tests(_ name: String, of rooms: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: rooms + ["TestServices"], swiftSettings: strict)
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
        .executable(name: "errand", targets: ["errand"]),
        .library(name: "JobQueue", targets: ["JobQueue", "Postgres", "Redis"]),
    ],
    targets: [
        // Floor 0: C libraries, no logic.
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CRedis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CQRCode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CHaru", providers: [.apt(["libhpdf-dev"])]),
        .systemLibrary(name: "CICal", providers: [.apt(["libical-dev"])]),
        .systemLibrary(name: "CMicroHTTPD", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CSystem"),

        // Floor 1: thin, safe Swift over them; pointers stop here.
        room("Threads", uses: ["CSystem"]),
        room("Gregorian"),
        room("Postgres", uses: ["CPostgres", "Gregorian", "Threads"]),
        room("Redis", uses: ["CRedis", "Threads"]),
        room("HTTP", uses: ["CCurl", "CSystem", "Threads"]),
        room("HTTPServer", uses: ["CMicroHTTPD"]),
        room("Crypto", uses: ["CCrypto"]),
        room("QRCode", uses: ["CPNG", "CQRCode"]),
        room("LatinText"),
        room("Matching"),
        room("PDF", uses: ["CHaru", "Gregorian", "LatinText"]),
        room("DurableFiles", uses: ["Crypto"]),
        room("Recurrence", uses: ["Gregorian"]),
        room("RepeatRules", uses: ["CICal", "Gregorian"]),
        room("Terminal", uses: ["Gregorian", "Threads"]),

        // Floor 2: the engine, delivery, the schema.
        .target(
            name: "Migrations", dependencies: ["Postgres"], path: "migrations",
            exclude: ["released.txt"],
            resources: migrationFiles.map { .embedInCode($0) }, swiftSettings: strict),
        // The words of notices in English; see EnglishNotices.swift for why a locale is a target.
        .target(
            name: "EnglishNotices", resources: [.embedInCode("en")], swiftSettings: strict),
        room("JobQueue", uses: ["Postgres", "Recurrence", "Redis", "Threads"]),
        room("Delivery", uses: ["Crypto", "HTTP"]),
        room("Sealing", uses: ["Crypto", "Postgres"]),
        room("PaymentFiles", uses: ["Crypto", "DurableFiles", "Gregorian", "LatinText", "PDF"]),

        // Floors 3 and 4: the domains.
        room(
            "Notifications",
            uses: [
                "Crypto", "EnglishNotices", "JobQueue", "Delivery", "Gregorian", "Postgres",
                "Recurrence", "Sealing",
            ]),
        room("Ledger", uses: ["Gregorian", "JobQueue", "Postgres", "Recurrence"]),
        room(
            "Coupons",
            uses: ["Crypto", "Notifications", "JobQueue", "Postgres", "Recurrence", "Sealing"]),
        room(
            "Payouts",
            uses: [
                "Crypto", "DurableFiles", "Gregorian", "JobQueue", "Ledger", "Notifications",
                "PaymentFiles", "Postgres", "Recurrence", "Sealing",
            ]),
        room(
            "Votes",
            uses: ["Crypto", "JobQueue", "Notifications", "Postgres", "Recurrence", "Sealing"]),

        room(
            "Missions", uses: ["JobQueue", "Matching", "Notifications", "Postgres", "Threads"]),

        room(
            "Household",
            uses: [
                "Gregorian", "JobQueue", "Notifications", "Postgres", "Recurrence", "RepeatRules",
            ]),

        room(
            "StatusPage", uses: ["HTTPServer", "JobQueue", "Postgres", "Redis", "Threads"]),

        // Floor 5: the command.
        .executableTarget(
            name: "errand",
            dependencies: [
                "Coupons", "Crypto", "Notifications", "Delivery", "DurableFiles", "Gregorian",
                "HTTP", "HTTPServer", "Household", "JobQueue", "Ledger", "Matching", "Migrations",
                "Missions", "PaymentFiles", "Payouts", "Postgres", "QRCode", "Recurrence", "Redis",
                "Sealing", "StatusPage", "Terminal", "Threads", "Votes",
            ],
            swiftSettings: strict),

        // Tests and measurements.
        .target(
            name: "TestServices",
            dependencies: ["CSystem", "Crypto", "Postgres", "Redis", "Migrations", "JobQueue"],
            path: "Tests/TestServices", swiftSettings: strict),
        tests("PostgresTests", of: ["Postgres", "Threads"]),
        tests("RedisTests", of: ["Redis", "Threads"]),
        tests("HTTPTests", of: ["HTTP"]),
        tests("HTTPServerTests", of: ["HTTP", "HTTPServer"]),
        tests("CryptoTests", of: ["Crypto"]),
        tests("SealingTests", of: ["Crypto", "Postgres", "Sealing"]),
        tests("QRCodeTests", of: ["QRCode"]),
        tests("MatchingTests", of: ["Matching"]),
        tests("PDFTests", of: ["Gregorian", "PDF"]),
        tests("DurableFilesTests", of: ["DurableFiles"]),
        tests(
            "PaymentFilesTests", of: ["DurableFiles", "Gregorian", "LatinText", "PaymentFiles"]),
        tests("RecurrenceTests", of: ["Gregorian", "Recurrence"]),
        tests("RepeatRulesTests", of: ["Gregorian", "Recurrence", "RepeatRules"]),
        tests("TerminalTests", of: ["Terminal"]),
        tests("DeliveryTests", of: ["Delivery", "HTTP"]),
        tests(
            "JobQueueTests", of: ["JobQueue", "Migrations", "Postgres", "Recurrence", "Redis"]),
        tests(
            "CouponsTests",
            of: [
                "Coupons", "Crypto", "Notifications", "Delivery", "JobQueue", "Postgres",
                "Recurrence",
            ]),
        tests(
            "NotificationsTests",
            of: [
                "Crypto", "EnglishNotices", "Notifications", "Delivery", "Gregorian", "JobQueue",
                "Postgres", "Recurrence", "Sealing",
            ]),
        tests(
            "LedgerTests", of: ["Gregorian", "JobQueue", "Ledger", "Postgres", "Recurrence"]),
        tests(
            "PayoutsTests",
            of: [
                "Crypto", "DurableFiles", "Gregorian", "JobQueue", "Ledger", "Notifications",
                "PaymentFiles", "Payouts", "Postgres", "Recurrence", "Sealing",
            ]),
        tests(
            "VotesTests",
            of: [
                "Crypto", "JobQueue", "Notifications", "Postgres", "Recurrence", "Sealing",
                "Votes",
            ]),
        tests(
            "MissionJobsTests",
            of: ["JobQueue", "Matching", "Missions", "Notifications", "Postgres"]
        ),
        tests("MissionsTests", of: ["Postgres"]),
        tests("HouseholdTests", of: ["Postgres"]),
        tests(
            "HouseholdJobsTests",
            of: [
                "Gregorian", "Household", "JobQueue", "Notifications", "Postgres", "Recurrence",
            ]),
        tests("StatusPageTests", of: ["HTTPServer", "JobQueue", "Postgres", "StatusPage"]),
        tests("CommandTests", of: ["HTTP", "Postgres", "Redis"]),
        tests("CrashTests", of: ["JobQueue", "Migrations", "Postgres", "Redis"]),
        .executableTarget(
            name: "bench",
            dependencies: [
                "Delivery", "DurableFiles", "Gregorian", "HTTP", "JobQueue", "Migrations",
                "Notifications", "PaymentFiles", "Postgres", "Recurrence", "Redis",
            ],
            path: "Tests/Bench", swiftSettings: strict),
    ]
)
