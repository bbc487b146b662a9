import ErrandCommand

/// A shop's own worker, scheduler and command line.
@main
struct Program {
    static func main() async {
        await ErrandCommand.main(
            name: "shop", version: "1.0.0", summary: "The background jobs of a shop",
            modules: [ShopModule()])
    }
}
