// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "shop",
    dependencies: [.package(name: "errand", path: "../..")],
    targets: [
        .executableTarget(
            name: "shop",
            dependencies: [.product(name: "ErrandCommand", package: "errand")],
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")],
            // Embeds the SQL of migrations/shop.
            plugins: [.plugin(name: "ErrandEmbedSQL", package: "errand")])
    ]
)
