import ErrandCommand

/// The field names of badges.
enum BadgeFieldNames {
    static let all: [FieldName] = [
        ("badge", "the kind of badge, such as coupons_used"),
        ("level", "the number of deeds that earned the highest badge of the kind"),
        ("earned_at", "when the person earned it"),
        ("progress", "the number of deeds that count"),
        ("next_level", "the number of deeds that earns the next badge; null after the last one"),
        ("deed", "what counts: coupon_used or survey_done"),
        ("by_establishment", "whether the deeds of each establishment are counted apart"),
        ("levels", "the numbers of deeds that earn a badge each"),
        ("sources", "the modules from which deeds are recounted"),
        ("people", "the number of people whose deeds were recounted"),
        ("corrected", "the number of counts that were too low"),
        ("awarded", "the number of badges that were missing"),
    ]
}
