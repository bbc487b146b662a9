import ErrandCommand

/// The field names of inquiries.
enum InquiryFieldNames {
    static let all: [FieldName] = [
        ("mission_title", "the title of the mission that a thread is about"),
        ("opened_at", "when the person asked"),
        ("last_at", "when the person or an agent wrote last"),
        ("waiting_from", "the first message without an answer; --cursor of the next page"),
        ("is_late", "whether a message waits longer than it takes to alert operators"),
        ("messages", "the messages of a thread, or their number"),
        ("closed_at", "when the thread was closed"),
        ("closed_by", "the operator who closed it; empty: nobody wrote for 7 days"),
        ("at", "when the message was written"),
        ("by", "who wrote a message: person, or the name of an agent"),
        ("alerted_at", "when operators were alerted of the message"),
        ("text", "the message"),
    ]
}
