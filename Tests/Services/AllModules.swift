package import Errand
package import ErrandCommand
import ErrandCoupons
import ErrandEstablishments
import ErrandHousehold
import ErrandLedger
import ErrandMissions
import ErrandNotification
import ErrandPayouts
import ErrandPeople
import ErrandVotes

/// Every module that keeps something in the database.
package enum AllModules {
    package static let all: [any Module] = [
        PeopleModule(), NotificationModule(), LedgerModule(), PayoutsModule(),
        EstablishmentsModule(), CouponsModule(), MissionsModule(), VotesModule(),
        HouseholdModule(),
    ]
    package static let lines = all.map(\.migrations)
    package static let names = lines.map(\.module)
}
