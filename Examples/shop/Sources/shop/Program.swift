import ErrandCommand

/// A shop's own worker, scheduler and command line: `shop work`, `shop job ls`, `shop doctor` …
@main
struct Program {
    static func main() async {
        await ErrandCommand.main(
            name: "shop", version: "1.0.0", summary: "The background jobs of a shop",
            modules: [ShopModule()])
    }
}
