package import Foundation

/// What Python's `email` package, which shares no code with ours, reads out of a mail.
package struct ParsedMail: Decodable {
    package let subject: String
    package let from: [String]
    package let to: [String]
    package let reply_to: [String]
    package let date: String
    package let message_id: String
    package let tag: String?
    package let unsubscribe: String?
    package let types: [String]
    package let text: String
    package let html: String?
    package let defects: [String]

    package init(_ mail: URL) async throws {
        let printed = try await output(of: ["python3", "-c", Self.script, mail.path])
        self = try JSONDecoder().decode(ParsedMail.self, from: Data(printed.utf8))
    }

    private static let script = """
        import email, email.policy, json, sys
        mail = email.message_from_bytes(open(sys.argv[1], 'rb').read(), policy=email.policy.default)
        def people(name):
            found = mail[name].addresses if mail[name] else []
            return [part for a in found for part in (a.display_name, a.addr_spec)]
        def body(kind):
            part = mail.get_body(preferencelist=(kind,))
            if part is None: return None
            return part.get_payload(decode=True).decode(part.get_content_charset())
        print(json.dumps({
            'subject': mail['subject'], 'from': people('from'), 'to': people('to'),
            'reply_to': people('reply-to'), 'date': mail['date'].datetime.isoformat(),
            'message_id': mail['message-id'], 'tag': mail['x-tag'],
            'unsubscribe': mail['list-unsubscribe'],
            'types': [p.get_content_type() for p in mail.walk()],
            'text': body('plain'), 'html': body('html'),
            'defects': [str(d) for p in mail.walk() for d in p.defects]
                + [str(d) for v in mail.values() for d in v.defects],
        }))
        """
}
