// swift-tools-version: 6.2
import PackageDescription

// Targets by the names that packages of Swift servers have; beside Errand they must resolve.
let names = [
    "Crypto", "Redis", "Postgres", "HTTP", "Logging", "Metrics", "Terminal", "Jobs", "Queues",
]

let package = Package(
    name: "names",
    dependencies: [.package(name: "errand", path: "../../..")],
    targets: names.map { .target(name: $0) } + [
        .target(name: "CSystem"),
        .executableTarget(
            name: "app",
            dependencies: names.map { .byName(name: $0) } + [
                "CSystem", .product(name: "Errand", package: "errand"),
            ]),
    ]
)
