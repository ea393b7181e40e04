//! Remedies that name commands and options of the command line.

use homing_experiment::Remedy;

/// Returns what to type, or the library's own words if the remedy names no option.
pub fn words(remedy: Remedy) -> String {
    match remedy {
        Remedy::GiveToRun(option) => format!("give --{option} to `homing experiment run`"),
        Remedy::NameArgument => "name an option of `homing finetune`".into(),
        Remedy::LeaveQuickOut => "leave --quick out, or give --seeds and --rounds".into(),
        Remedy::ListExperiments => "`homing experiment list` lists them, and your own TOML file works too".into(),
        Remedy::NameDataFolder => {
            "name the folder of the data with --data, or download them with `homing data fetch`".into()
        }
        Remedy::NameFileFolder => "put it there, or name its folder with --data".into(),
        Remedy::RunExperiment => "`homing experiment run` writes it".into(),
        Remedy::RunAgain => "`homing experiment run` writes the table again".into(),
        _ => remedy.to_string(),
    }
}
