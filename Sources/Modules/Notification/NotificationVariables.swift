import ErrandCommand

/// What the module reads of the environment.
enum NotificationVariables {
    static let all: [VariableName] = [
        (
            "ERRAND_SMTP_URL, ERRAND_MAIL_FROM",
            "The mail server, and the address that mail comes from."
        ),
        ("ERRAND_SMTP_URL_FILE", "A file whose only line stands for ERRAND_SMTP_URL."),
        ("ERRAND_UNSUBSCRIBE_URL", "The app server's page on which people end mails."),
        (
            "ERRAND_APNS_KEY_FILE, ERRAND_APNS_KEY_ID, ERRAND_APNS_TEAM_ID",
            "Apple's .p8 key, its identifier and the team's."
        ),
        ("ERRAND_FCM_ACCOUNT_FILE", "The JSON of the service account for Firebase."),
        (
            "ERRAND_MAIL_RATE, ERRAND_APNS_RATE, ERRAND_FCM_RATE",
            "Messages a second, at most, from each worker."
        ),
        (
            "ERRAND_APNS_URL, ERRAND_APNS_CA, ERRAND_FCM_URL, ERRAND_FCM_CA",
            "A simulator of the provider, and the authorities to trust for it."
        ),
        (
            "ERRAND_WEBHOOKS_PRIVATE, ERRAND_WEBHOOKS_CA",
            "allow lets webhooks into private networks; the authorities to trust for endpoints."
        ),
        ("ERRAND_NOTICES", "A folder of words of your own for notices: LOCALE/KIND.CHANNEL.txt."),
    ]
}
