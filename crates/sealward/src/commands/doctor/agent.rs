//! The agent's settings: whether our hook stands there, will be run, and is the last word on the input.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Finding;
use crate::commands::connect;
use crate::home::Home;
use crate::output::Chain;
use crate::settings::claude::{self, Hook};
use crate::settings::file::{SettingsError, SettingsFile};
use crate::settings::tree::Tree;

/// Where an administrator's settings for all users stand; they are stronger than a user's.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

pub(super) fn look(given: Option<&Path>, home: &Home, findings: &mut Vec<Finding>) {
    let path = match given.map_or_else(connect::default_settings, |path| Ok(path.to_path_buf())) {
        Ok(path) => path,
        Err(error) => {
            findings.push(Finding::warn("agent", Chain(&error), "Give the settings file: --settings FILE."));
            return;
        }
    };
    let settings = match read(&path) {
        Ok(settings) => settings,
        Err(error) => {
            findings.push(Finding::bad(
                "agent",
                Chain(&error),
                "Mend the file; the agent may ignore all of it.",
            ));
            return;
        }
    };
    let hooks = claude::hooks(&settings);
    let (ours, others): (Vec<&Hook>, Vec<&Hook>) = hooks.iter().partition(|hook| hook.ours);
    if ours.is_empty() {
        findings.push(Finding::warn(
            "agent",
            format_args!("Claude Code is not connected in {}", path.display()),
            "sealward connect claude",
        ));
        return;
    }
    wired(&ours, home, findings);
    if settings.get("disableAllHooks") == Some(&Tree::Leaf("true".to_owned())) {
        findings.push(Finding::bad(
            "agent",
            format_args!("`disableAllHooks` in {} turns the gate off", path.display()),
            "Take it out.",
        ));
    }
    managed(findings);
    for other in others.iter().filter(|hook| hook.event == "PreToolUse") {
        findings.push(Finding::warn(
            "others",
            format_args!("another hook before the call: `{}` on `{}`", other.command, other.matcher),
            "If it rewrites input, what runs may not be what you approved: see that it does not.",
        ));
    }
}

fn read(path: &Path) -> Result<Tree, SettingsError> {
    let file = SettingsFile::read(path)?;
    match file.text() {
        Some(text) => Tree::parse(text)
            .and_then(|tree| tree.deep())
            .map_err(|bad| SettingsError::Form { path: file.path().to_path_buf(), what: bad.to_string() }),
        None => Ok(Tree::Object(Vec::new())),
    }
}

/// The gate, the end of a call, their times and the program they run.
fn wired(ours: &[&Hook], home: &Home, findings: &mut Vec<Finding>) {
    let remedy = "sealward connect claude";
    let before = findings.len();
    for event in ["PreToolUse", "PostToolUse"] {
        if !ours.iter().any(|hook| hook.event == event && matches!(hook.matcher.as_str(), "*" | "")) {
            findings.push(Finding::bad(
                "agent",
                format_args!("our hook does not stand on every `{event}`"),
                remedy,
            ));
        }
    }
    for hook in ours {
        let wait = claude::wait_of(&hook.command);
        if wait.is_none() || wait != hook.timeout {
            findings.push(Finding::bad(
                "agent",
                format_args!("on `{}` the agent waits {} and the hook {}", hook.event, seconds(hook.timeout), seconds(wait)),
                "An agent that stops waiting first lets the call go on: `sealward connect claude` writes one number for both.",
            ));
        }
        match claude::parts(&hook.command) {
            Some((program, folder)) => program_and_home(&program, &folder, home, findings),
            None => findings.push(Finding::bad(
                "agent",
                format_args!("`{}` cannot be understood", hook.command),
                remedy,
            )),
        }
    }
    if findings.len() == before {
        findings.push(Finding::ok("agent", format_args!("Claude Code is connected, {} hooks", ours.len())));
    }
}

fn program_and_home(program: &Path, folder: &Path, home: &Home, findings: &mut Vec<Finding>) {
    let remedy = "sealward connect claude";
    let runs =
        fs::metadata(program).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    if !runs {
        let what = format!("{} is no program, so the agent goes on without asking", program.display());
        findings.push(Finding::bad("agent", what, remedy));
    }
    let same = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    if same(folder) != same(home.dir()) {
        let what = format!("the agent's hook uses another home: {}", folder.display());
        findings.push(Finding::warn(
            "agent",
            what,
            format_args!("Look at that one: `sealward --home {} doctor`", folder.display()),
        ));
    }
}

/// An administrator may have shut a user's hooks out.
fn managed(findings: &mut Vec<Finding>) {
    for path in MANAGED.map(Path::new) {
        let Ok(settings) = read(path) else { continue };
        let shut = settings.get("allowManagedHooksOnly") == Some(&Tree::Leaf("true".to_owned()));
        if shut && !claude::hooks(&settings).iter().any(|hook| hook.ours) {
            findings.push(Finding::bad(
                "agent",
                format_args!("{} lets only an administrator's hooks run", path.display()),
                "Ask the administrator to write the hook there.",
            ));
        }
    }
}

fn seconds(count: Option<u64>) -> String {
    count.map_or_else(|| "for a time it does not say".to_owned(), |count| format!("{count} s"))
}
