package import Errand
import ErrandAccounts
import ErrandBadges
package import ErrandCommand
import ErrandCoupons
import ErrandCustody
import ErrandEstablishments
import ErrandHousehold
import ErrandInquiries
import ErrandLedger
import ErrandMissions
import ErrandNews
import ErrandNotification
import ErrandPayouts
import ErrandPeople
package import ErrandPostgres
import ErrandReports
import ErrandSurveys
import ErrandVotes

/// Every module that keeps something in the database.
package enum AllModules {
    package static let all: [any Module] = [
        PeopleModule(), NotificationModule(), AccountsModule(), LedgerModule(),
        PayoutsModule(), EstablishmentsModule(), BadgesModule(), CouponsModule(),
        MissionsModule(), SurveysModule(), ReportsModule(), NewsModule(), InquiriesModule(),
        VotesModule(), HouseholdModule(), CustodyModule(),
    ]
    package static let lines = all.map(\.migrations)
    package static let names = lines.map(\.module)

    /// Declares the kinds of notice, as `errand migrate` does.
    package static func declareNotices(_ session: Session) async throws {
        let catalogue = try NoticeCatalogue.of(all.compactMap { $0 as? any NotifyingModule })
        _ = try await session.query(catalogue.declaration())
    }
}
