import ErrandAccounts
import ErrandCommand
import ErrandCoupons
import ErrandCustody
import ErrandDemo
import ErrandEstablishments
import ErrandHousehold
import ErrandKeys
import ErrandLedger
import ErrandMissions
import ErrandNotification
import ErrandPayouts
import ErrandPeople
import ErrandVotes

@main
struct Program {
    static func main() async {
        await ErrandCommand.main(modules: [
            PeopleModule(), NotificationModule(), AccountsModule(), LedgerModule(),
            PayoutsModule(), EstablishmentsModule(), CouponsModule(), MissionsModule(),
            VotesModule(), HouseholdModule(), CustodyModule(), KeysModule(), DemoModule(),
        ])
    }
}
