/// The candidate closest to a mistyped word, or nil if none is close enough.
///
/// Close enough means one edit for every three letters, and at least one.
package func nearest(to word: String, among candidates: [String]) -> String? {
    let limit = max(1, word.count / 3)
    var best: (distance: Int, word: String)?
    for candidate in candidates {
        var distance = editDistance(word, candidate)
        // An incomplete word counts as one edit.
        if word.count >= 2, candidate.hasPrefix(word) { distance = min(distance, 1) }
        guard distance <= limit, distance < best?.distance ?? .max else { continue }
        best = (distance, candidate)
    }
    return best?.word
}

/// The number of insertions, deletions, replacements and transpositions between two words.
///
/// The restricted Damerau-Levenshtein distance (optimal string alignment).
package func editDistance(_ first: String, _ second: String) -> Int {
    let first = Array(first)
    let second = Array(second)
    var beforeLast: [Int] = []
    var last = Array(0...second.count)
    for row in 0..<first.count {
        var current = [row + 1]
        for column in 0..<second.count {
            let isSame = first[row] == second[column]
            var cost = min(
                last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
            if row > 0, column > 0, first[row] == second[column - 1],
                first[row - 1] == second[column]
            {
                cost = min(cost, beforeLast[column - 1] + 1)
            }
            current.append(cost)
        }
        beforeLast = last
        last = current
    }
    return last[second.count]
}
