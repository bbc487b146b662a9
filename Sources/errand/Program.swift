import ErrandAccounts
import ErrandBadges
import ErrandCommand
import ErrandCoupons
import ErrandCustody
import ErrandDemo
import ErrandEstablishments
import ErrandHousehold
import ErrandInquiries
import ErrandKeys
import ErrandLedger
import ErrandMissions
import ErrandNews
import ErrandNotification
import ErrandPayouts
import ErrandPeople
import ErrandReports
import ErrandSurveys
import ErrandVotes

@main
struct Program {
    static func main() async {
        await ErrandCommand.main(modules: [
            PeopleModule(), NotificationModule(), AccountsModule(), LedgerModule(),
            PayoutsModule(), EstablishmentsModule(), BadgesModule(), CouponsModule(),
            MissionsModule(), SurveysModule(), ReportsModule(), NewsModule(), InquiriesModule(),
            VotesModule(), HouseholdModule(), CustodyModule(), KeysModule(), DemoModule(),
        ])
    }
}
