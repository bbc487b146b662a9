import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("What is never shown") struct SecrecyTests {
    /// Every way in which a value can come to be text.
    private func texts(of value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \(String(reflecting: value)) \(dumped)"
    }

    private func keyLines(_ file: String) throws -> [String] {
        try String(contentsOfFile: file, encoding: .utf8)
            .replacing("\\n", with: "\n").split(separator: "\n")
            .map(String.init).filter { $0.utf8.count >= 40 && !$0.contains(" ") }
    }

    @Test func `keys are in no text of the settings and clients`() async throws {
        let keys = try await PushCredentials.shared
        let apns = try APNsSettings(
            keyFile: keys.keyFile, keyID: "ABCDE12345", teamID: "TEAM123456")
        let fcm = try FCMSettings(accountFile: keys.accountFile)
        let text =
            texts(of: apns) + texts(of: fcm) + texts(of: APNsClient(apns))
            + texts(of: FCMClient(fcm))
        let lines = try keyLines(keys.keyFile) + keyLines(keys.accountFile)
        #expect(lines.count > 10)
        for line in lines { #expect(!text.contains(line)) }
        #expect("\(apns)" == "APNs team TEAM123456, key ABCDE12345, Apple's hosts")
        #expect("\(fcm)".hasPrefix("FCM project errand-demo, key "))
    }

    @Test func `a message shows neither its device nor its words`() {
        let message = push(device(1))
        let text = texts(of: message).replacing(message.id.uuidString, with: "")
            .replacing(message.id.uuidString.lowercased(), with: "")
        #expect(!text.contains("c0ffee"))
        #expect(!text.contains("coupon near"))
        #expect(!text.contains("17"))
    }

    @Test func `an endpoint and its secrets are not shown`() throws {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let message = WebhookMessage(
            id: "msg_1", url: "https://hooks.example/opaque-key", body: [],
            secrets: [try #require(WebhookSecret(secret))])
        let text = texts(of: message)
        #expect(!text.contains("opaque-key"))
        #expect(!text.contains("MfKQ"))
        #expect(text.contains("***"))
    }

    @Test func `no verdict names the device or a token, whatever goes wrong`() async throws {
        let answers = [
            "410 Unregistered", "400 BadDeviceToken", "403 Forbidden", "stall", "drop",
            "reset INTERNAL_ERROR", "503 ServiceUnavailable", "slow 0",
        ]
        let rules = answers.enumerated().flatMap { number, answer in
            ["apns:*f\(number)=\(answer)", "fcm:*f\(number)=\(answer)"]
        }
        try await withPushSink(rules) { sink in
            let apns = try sink.apns(limit: .seconds(1))
            let fcm = try sink.fcm(limit: .seconds(1))
            for number in answers.indices {
                let token = device(0xf0 + number)
                let verdicts = [await apns.send(push(token)), await fcm.send(push(token))]
                for verdict in verdicts {
                    let text = texts(of: verdict)
                    #expect(!text.contains("c0ffee"), "\(verdict)")
                    #expect(!text.contains("eyJ") && !text.contains("ya29"), "\(verdict)")
                }
            }
            await apns.close()
            await fcm.close()
        }
    }

    @Test func `a file that is not what it should be is named, and nothing of it shown`()
        async throws
    {
        let keys = try await PushCredentials.shared
        let lines = try keyLines(keys.keyFile) + keyLines(keys.accountFile)
        func words(_ make: () throws -> Any) -> String {
            let error = #expect(throws: DeliverySettingsError.self) { _ = try make() }
            let text = error.map { texts(of: $0) } ?? ""
            for line in lines { #expect(!text.contains(line)) }
            return text
        }
        func apns(_ file: String, keyID: String = "ABCDE12345", url: String? = nil) -> String {
            words {
                try APNsSettings(keyFile: file, keyID: keyID, teamID: "TEAM123456", url: url)
            }
        }
        #expect(apns("/nowhere/key.p8").contains("cannot read /nowhere/key.p8"))
        #expect(apns(keys.accountFile).contains(keys.accountFile))
        let open = keys.folder.appending(path: "open.p8").path
        try Data(contentsOf: URL(filePath: keys.keyFile)).write(to: URL(filePath: open))
        for mode in [0o644, 0o602] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: open)
            let expected = "\(open) is accessible to all users of this machine: chmod o= \(open)"
            #expect(apns(open).contains(expected))
            #expect(words { try FCMSettings(accountFile: open) }.contains(expected))
        }
        let certificate = keys.folder.appending(path: "certificate.p8").path
        try Data(contentsOf: URL(filePath: keys.authority)).write(to: URL(filePath: certificate))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: certificate)
        #expect(apns(certificate).contains("expected the .p8 key of APNs"))
        #expect(apns(keys.keyFile, keyID: "short").contains("10 capital letters and digits"))
        #expect(apns(keys.keyFile, url: "http://localhost").contains("https://host:port"))
        #expect(words { try FCMSettings(accountFile: keys.keyFile) }.contains("service account"))
        #expect(
            words { try FCMSettings(accountFile: keys.accountFile, tokenURL: "http://x") }
                .contains("https://host:port"))
    }
}
