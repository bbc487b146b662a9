/// The names in records about missions.
extension FieldNames {
    static let missions = [
        ("mission", "the id of the mission"),
        ("shopper", "the id of the person who takes it"),
        ("score", "how good it is that this shopper takes this mission"),
        ("filled", "slots of missions that have a shopper"),
        ("unfilled", "slots of missions that stay free"),
        ("no_candidates", "free slots for which nobody comes into question"),
        ("all_taken", "free slots whose candidates have no capacity left"),
        ("not_worth_it", "free slots for which only candidates of negative score are left"),
        ("unfilled_missions", "missions with free slots: how many, and why"),
        ("total_score", "the sum of the scores of all assignments"),
        ("bound", "no other assignment has a larger total score"),
        ("is_optimal", "whether the bound is reached, so that nothing better exists"),
    ]
}
