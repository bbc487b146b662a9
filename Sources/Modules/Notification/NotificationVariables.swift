import ErrandCommand

/// The environment variables of the module.
enum NotificationVariables {
    static let all: [VariableName] = [
        (
            "ERRAND_SMTP_URL, ERRAND_MAIL_FROM",
            "The mail server, and the sender's address."
        ),
        ("ERRAND_SMTP_URL_FILE", "A file whose only line is the value of ERRAND_SMTP_URL."),
        ("ERRAND_UNSUBSCRIBE_URL", "The app server's page for unsubscribing from mail."),
        (
            "ERRAND_APNS_KEY_FILE, ERRAND_APNS_KEY_ID, ERRAND_APNS_TEAM_ID",
            "Apple's .p8 key file, the id of the key and the id of the team."
        ),
        ("ERRAND_FCM_ACCOUNT_FILE", "The JSON file of the Firebase service account."),
        (
            "ERRAND_MAIL_RATE, ERRAND_APNS_RATE, ERRAND_FCM_RATE",
            "The maximum number of messages per second of each worker."
        ),
        (
            "ERRAND_APNS_URL, ERRAND_APNS_CA, ERRAND_FCM_URL, ERRAND_FCM_CA",
            "The URL of a simulator of the provider, and the CA file for it."
        ),
        (
            "ERRAND_WEBHOOKS_PRIVATE, ERRAND_WEBHOOKS_CA",
            "allow permits endpoints in private networks; the CA file for endpoints."
        ),
        ("ERRAND_NOTICES", "A folder of custom templates for notices: LOCALE/KIND.CHANNEL.txt."),
    ]
}
