//! What a command text would do, as far as its words say it. Each function answers "could it?", so doubt is a yes.

use super::text::{Place, Text};
use crate::lexer::base_name;
use crate::paths::wildcard;

const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "ash",
    "fish",
    "csh",
    "tcsh",
    "python*",
    "perl*",
    "ruby*",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php*",
    "lua*",
    "pwsh",
    "powershell",
    "osascript",
    "tclsh",
];
const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "csh", "tcsh", "pwsh", "powershell"];
const FETCHERS: &[&str] = &[
    "curl",
    "wget",
    "fetch",
    "http",
    "https",
    "aria2c",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "base64",
    "base32",
    "xxd",
    "openssl",
    "uudecode",
    "irm",
    "iwr",
    "invoke-webrequest",
    "invoke-restmethod",
];
/// Branch names that are protected wherever nothing else is known.
const PROTECTED: &[&str] = &[
    "main",
    "master",
    "trunk",
    "develop",
    "development",
    "default",
    "prod*",
    "release*",
    "stable*",
    "staging",
    "live",
    "deploy*",
    "gh-pages",
    "hotfix*",
];
/// Options of `git push` that change nothing about what is overwritten where.
const PUSH_OPTIONS: &[&str] = &[
    "-u",
    "--set-upstream",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--progress",
    "-n",
    "--dry-run",
    "--porcelain",
];

pub(super) fn never(_: &Text) -> bool {
    false
}

/// `rm -r` and its kin, in a shell, in PowerShell, in cmd and in the libraries of script languages.
pub(super) fn deletes_folders(text: &Text) -> bool {
    if text.place == Place::Tool {
        let deletes = ["delete", "remove", "rmdir", "rmtree"].iter().any(|verb| text.lower.contains(verb));
        return deletes && ["dir", "folder", "tree", "recurs"].iter().any(|noun| text.lower.contains(noun));
    }
    let calls = [
        "rmtree",
        "rm_rf",
        "rm_r(",
        "rimraf",
        "removeall",
        "remove_dir_all",
        "remove_tree",
        "rmsync",
        "rmdirsync",
        "delete_tree",
        "fs.rm(",
    ];
    calls.iter().any(|call| text.lower.contains(call))
        || text.segments.iter().any(|words| segment_deletes(words))
}

/// Whether a program of the segment stands before what makes it delete folders. One pass from the end: texts come from
/// agents, and looking ahead from each word would let a long one cost its square.
fn segment_deletes(words: &[String]) -> bool {
    let (mut recursive, mut windows, mut clean, mut mirror, mut found, mut removed) =
        (false, false, false, false, false, false);
    for word in words.iter().rev() {
        let deletes = match program(word) {
            "rm" | "remove-item" | "ri" | "trash" | "srm" => recursive,
            "rd" | "rmdir" | "del" | "erase" => windows || recursive,
            "git" => clean,
            "rsync" | "robocopy" => mirror,
            "tar" => removed,
            "find" | "fd" | "bfs" | "gfind" | "xargs" | "gxargs" | "parallel" => found,
            _ => false,
        };
        if deletes {
            return true;
        }
        // A word that is an expansion or a dash of another script could be the flag.
        let short = word.starts_with('-') && !word.starts_with("--") && word.contains('r');
        recursive |= short || word.starts_with("--r") || word.starts_with(['$', '\u{2013}', '\u{2014}']);
        windows |= word == "/s";
        clean |= word == "clean";
        mirror |= word.starts_with("--del") || word == "/mir";
        removed |= word.starts_with("--remove-f");
        found |= word == "-delete" || is_delete(word);
    }
    false
}

fn is_delete(word: &str) -> bool {
    matches!(program(word), "rm" | "unlink" | "shred" | "rmdir" | "srm")
}

/// A word as a program's name: without its folders and without `.exe`.
fn program(word: &str) -> &str {
    let name = word.rsplit('\\').next().unwrap_or(word);
    let name = base_name(name);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Environments hold tokens: printing one is reading a secret.
pub(super) fn prints_the_environment(text: &Text) -> bool {
    let runs = text.place == Place::Command;
    text.segments.iter().any(|words| {
        let alone = matches!(words.as_slice(), [only] if matches!(program(only), "env" | "set" | "export"));
        let listed = words.windows(2).any(|pair| {
            matches!(pair, [a, b] if matches!(a.as_str(), "export" | "declare") && matches!(b.as_str(), "-p" | "-x"))
        });
        (runs && alone)
            || listed
            || words.iter().any(|word| {
                program(word) == "printenv" || word.starts_with("env:") || word.starts_with("$env:")
            })
    })
}

/// Sealward's own commands that change who may decide, or whether anybody is asked.
pub(super) fn changes_sealward(text: &Text) -> bool {
    let harmless = |verb: &str| matches!(verb, "--version" | "--help" | "health" | "doctor" | "explain");
    let ours = |word: &String| matches!(program(word), "sealward" | "brokerd");
    text.segments.iter().any(|words| {
        words.windows(2).any(|pair| matches!(pair, [program, verb] if ours(program) && !harmless(verb)))
            || (text.place == Place::Command && words.last().is_some_and(ours))
    })
}

/// Settings by which git runs programs, given by `git config`, `-c` or the environment.
pub(super) fn sets_git_up(text: &Text) -> bool {
    const SETTINGS: &[&str] = &[
        "core.hookspath",
        "core.fsmonitor",
        "core.sshcommand",
        "core.editor",
        "core.pager",
        "core.gitproxy",
        "core.askpass",
        "core.attributesfile",
        "core.worktree",
        "sequence.editor",
        "credential.",
        "alias.",
        "filter.",
        "diff.external",
        "include.path",
        "includeif.",
        "init.templatedir",
        "gpg.program",
        "url.",
        "safe.directory",
        "protocol.ext",
        "uploadpack.",
        "receive.",
        "--template",
        "--upload-pack",
        "--receive-pack",
        "--exec-path",
        "git_config",
        "git_dir",
        "git_ssh",
        "git_external_diff",
        "git_proxy_command",
        "git_template_dir",
        "git_exec_path",
        "git_askpass",
        "git_editor",
        "git_pager",
    ];
    let names = |word: &String| SETTINGS.iter().any(|setting| word.starts_with(setting));
    text.segments.iter().any(|words| {
        let git = words.iter().any(|word| program(word) == "git");
        git && words.iter().any(names)
    }) || text.lower.contains("git_config_")
}

/// Programs that write disks, start services or leave something to run later.
pub(super) fn changes_the_machine(text: &Text) -> bool {
    const PROGRAMS: &[&str] = &[
        "mkfs*",
        "wipefs",
        "shred",
        "fdisk",
        "sfdisk",
        "gdisk",
        "sgdisk",
        "parted",
        "diskutil",
        "cryptsetup",
        "crontab",
        "systemctl",
        "launchctl",
        "schtasks",
        "insmod",
        "modprobe",
        "iptables",
        "nft",
        "visudo",
        "passwd",
        "useradd",
        "usermod",
        "adduser",
        "chpasswd",
        "shutdown",
        "reboot",
        "halt",
        "poweroff",
    ];
    text.segments.iter().any(|words| {
        let leads = words.first().is_some_and(|word| one_of(PROGRAMS, program(word)));
        leads
            || words.windows(2).any(
                |pair| matches!(pair, [before, word] if runs_next(before) && one_of(PROGRAMS, program(word))),
            )
    })
}

/// Words after which another program's name may stand.
fn runs_next(word: &str) -> bool {
    matches!(
        program(word),
        "sudo"
            | "doas"
            | "env"
            | "exec"
            | "command"
            | "nohup"
            | "time"
            | "then"
            | "do"
            | "else"
            | "!"
            | "xargs"
            | "-c"
            | "-lc"
            | "&&"
    )
}

fn one_of(patterns: &[&str], word: &str) -> bool {
    patterns.iter().any(|pattern| wildcard(pattern, word))
}

/// A push whose target is a protected branch, is not written out, or is forced or deleted. Where the strict lexer
/// does not read the text, any push is.
pub(super) fn pushes_to_a_protected_branch(text: &Text) -> bool {
    if text.place == Place::Tool {
        let verbs =
            ["git_push", "push_files", "push_to", "merge_pull", "merge_pr", "merge_request", "merge_branch"];
        return verbs.iter().any(|verb| text.lower.contains(verb));
    }
    let pushes = |words: &[String]| {
        let mut rest = words.iter();
        rest.any(|word| matches!(program(word), "git" | "jj" | "hg" | "gh" | "glab"))
            && rest.any(|word| matches!(word.as_str(), "push" | "send-pack" | "merge" | "bookmark" | "sync"))
    };
    if !text.segments.iter().any(|words| pushes(words)) {
        return false;
    }
    let Some(parts) = &text.parts else {
        return text.segments.iter().any(|words| pushes_somewhere(words));
    };
    let hidden = parts.iter().flatten().any(|word| word.contains(' ') && word.contains("push"));
    hidden || parts.iter().any(|words| part_pushes_to_protected(words))
}

/// For a text that leaves doubt: whether it pushes or merges on a server at all.
fn pushes_somewhere(words: &[String]) -> bool {
    let mut rest = words.iter();
    let Some(tool) = rest.find(|word| matches!(program(word), "git" | "jj" | "hg" | "gh" | "glab")) else {
        return false;
    };
    let remote_merge = matches!(program(tool), "gh" | "glab");
    rest.any(|word| {
        matches!(word.as_str(), "push" | "send-pack") || (remote_merge && (word == "merge" || word == "sync"))
    })
}

fn part_pushes_to_protected(words: &[String]) -> bool {
    if !pushes_somewhere(words) {
        return false;
    }
    let Some(at) = words.iter().position(|word| word == "push") else { return true };
    let (before, after) = words.split_at(at);
    let plain_git = matches!(before, [git] if program(git) == "git")
        // `-C folder`; the words are folded, and `-c name=value` could redirect the push.
        || matches!(before, [git, flag, folder] if program(git) == "git" && flag == "-c" && !folder.contains('='));
    let mut names = Vec::new();
    for word in after.iter().skip(1) {
        if word.starts_with('-') {
            if !PUSH_OPTIONS.contains(&word.as_str()) {
                return true;
            }
        } else {
            names.push(word.as_str());
        }
    }
    // The first name is the remote; a push that names no branch goes where git's settings say.
    let branches = names.get(1..).unwrap_or_default();
    !plain_git || branches.is_empty() || branches.iter().any(|spec| overwrites_protected(spec))
}

fn overwrites_protected(spec: &str) -> bool {
    let (source, target) = spec.split_once(':').unwrap_or((spec, spec));
    let name = target.strip_prefix("refs/heads/").or_else(|| target.strip_prefix("heads/")).unwrap_or(target);
    spec.starts_with('+') || source.is_empty() || matches!(name, "" | "head" | "@") || one_of(PROTECTED, name)
}

pub(super) fn changes_the_user(text: &Text) -> bool {
    text.segments.iter().any(|words| {
        words
            .iter()
            .any(|word| matches!(program(word), "sudo" | "doas" | "pkexec" | "runas" | "runuser" | "setpriv"))
            || words.first().is_some_and(|word| program(word) == "su")
    })
}

/// A pipe into a shell, or into any interpreter when something is fetched or decoded in the same text.
pub(super) fn runs_what_it_is_sent(text: &Text) -> bool {
    let fetches = text.segments.iter().flatten().any(|word| FETCHERS.contains(&program(word)));
    let after_pipes = text.lower.split('|').skip(1).filter_map(|after| {
        after.split([' ', '\t', '\n', '&', '(', '"', '\'']).find(|word| !word.is_empty() && !runs_next(word))
    });
    let mut piped = after_pipes.map(program);
    let piped_in = piped.any(|word| one_of(SHELLS, word) || (fetches && one_of(INTERPRETERS, word)));
    let substituted = fetches
        && ["$(", "`", "<("].iter().any(|mark| text.lower.contains(mark))
        && text.segments.iter().flatten().any(|word| {
            one_of(INTERPRETERS, program(word)) || matches!(program(word), "eval" | "source" | ".")
        });
    let evaluated =
        text.segments.iter().flatten().any(|word| matches!(program(word), "iex" | "invoke-expression"));
    piped_in || substituted || evaluated
}

/// A program's name that holds an expansion, `eval`, or words spelled as escape codes.
pub(super) fn hides_its_program(text: &Text) -> bool {
    if text.place == Place::Tool || text.parts.is_some() {
        return false;
    }
    let spelled = text.lower.contains("$'") && text.lower.contains('\\');
    let leads = text.lower.split([';', '|', '&', '\n', '(', '`']).filter_map(|segment| {
        segment
            .split_whitespace()
            .find(|word| !is_prefix(word))
            .map(|word| word.trim_start_matches(['"', '\'']))
    });
    let mut leads = leads;
    spelled
        || leads.any(|word| {
            word == "eval"
                || word.starts_with("eval$")
                || (word.contains(['$', '*', '?']) && !word.contains('=') && !matches!(word, "$" | "*" | "?"))
        })
}

/// Words before a program's name: control flow and assignments.
fn is_prefix(word: &str) -> bool {
    let assigns = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    assigns || runs_next(word) || matches!(word, "{" | "if" | "while" | "until" | "elif" | "\"" | "'")
}
