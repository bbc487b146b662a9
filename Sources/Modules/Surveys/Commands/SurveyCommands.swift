import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand survey …`.
enum SurveyCommands {
    static let all =
        SurveyListCommands.all + SurveyChangeCommands.all + SurveyReviewCommands.all
        + SurveyKeyCommands.all + SurveySimulateCommand.all
}
