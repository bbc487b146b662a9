/// The order of the lines of a migration: each after those that it needs.
struct MigrationPlan {
    /// The lines in order, the engine first.
    let lines: [MigrationLine]

    /// - Throws: ``MigrationError/missingModule(_:neededBy:)``, ``MigrationError/cycle(_:)``,
    ///   ``MigrationError/nameTaken(_:)``.
    init(
        _ modules: [MigrationLine], engine: MigrationLine = .engine
    ) throws(MigrationError) {
        var names = MigrationLine.reserved
        for line in modules where !names.insert(line.module).inserted {
            throw .nameTaken(line.module)
        }
        var ordered = [engine]
        let named = Dictionary(modules.map { ($0.module, $0) }) { first, _ in first }
        func visit(_ line: MigrationLine, path: [String]) throws(MigrationError) {
            guard !ordered.contains(where: { $0.module == line.module }) else { return }
            guard !path.contains(line.module) else { throw .cycle(path + [line.module]) }
            for need in line.needs {
                guard let needed = named[need] else {
                    throw .missingModule(need, neededBy: line.module)
                }
                try visit(needed, path: path + [line.module])
            }
            ordered.append(line)
        }
        for line in modules { try visit(line, path: []) }
        lines = ordered
    }

    /// Returns the lines of the engine, of the installed modules, and of the requested modules with
    /// those that they need.
    ///
    /// - Throws: ``MigrationError/unknownModule(_:known:)``.
    func lines(
        installed: Set<String>, adding names: [String]
    ) throws(MigrationError) -> [MigrationLine] {
        var wanted = installed.union([MigrationLine.engine.module])
        let optional = lines.dropFirst().filter { !$0.isEmpty }
        for name in names {
            guard lines.contains(where: { $0.module == name }) else {
                throw .unknownModule(name, known: optional.map(\.module))
            }
            wanted.insert(name)
        }
        // Needed modules come before those that need them.
        for line in lines.reversed() where wanted.contains(line.module) {
            wanted.formUnion(line.needs)
        }
        return lines.filter { wanted.contains($0.module) && !$0.isEmpty }
    }
}
