//! A hub that is down, slow, confused or unwilling, and events that are no events: nothing is ever allowed, and the
//! hook always ends before the agent's time-out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use executor::hook::{Job, Shape, run};
use serde_json::json;
use testkit::{Asked, Deed, Temp};

use crate::seat::{CWD, Script, Seat, approved, bash, blocked, gate, no_decision, status};

/// Before a hub in this trouble the gate blocks with these words, and the dialog stands.
#[track_caller]
fn in_trouble(trouble: impl Fn(&Asked) -> Option<Deed> + Send + Sync + 'static, words: &str) {
    let seat = Seat::with(|key| Script::new(move |item, _| approved(&key, item)).but(trouble));
    blocked(&seat.hook(&bash("PreToolUse", "ls"), 8), words);
    no_decision(&seat.hook(&bash("PermissionRequest", "ls"), 8), words);
}

fn at(path: &'static str, deed: fn() -> Deed) -> impl Fn(&Asked) -> Option<Deed> {
    move |asked| asked.path.starts_with(path).then(deed)
}

fn problem(status: u16, code: &str) -> Deed {
    Deed::Say(
        status,
        json!({"type": "about:blank", "title": "x", "status": status, "code": code, "detail": "the hub's words"}),
    )
}

const EVERYWHERE: &str = "/api/";

#[test]
fn a_hub_that_is_down_blocks() {
    let seat = Seat::approving().without_hub();
    let outcome = seat.hook(&bash("PreToolUse", "ls"), 20);
    blocked(&outcome, "Unavailable: the hub cannot be reached.");
    no_decision(&seat.hook(&bash("PermissionRequest", "ls"), 20), "cannot be reached");
}

#[test]
fn a_hub_that_hangs_blocks_in_time() {
    in_trouble(at(EVERYWHERE, || Deed::Hang), "did not answer in time");
    in_trouble(at("/api/asks/", || Deed::Hang), "did not answer in time");
}

#[test]
fn what_is_no_hub_blocks() {
    in_trouble(at(EVERYWHERE, || Deed::Raw(b"SSH-2.0-OpenSSH\r\n".to_vec())), "is not a hub");
    in_trouble(at(EVERYWHERE, || Deed::Say(200, json!({"hello": "world"}))), "is not a hub");
    in_trouble(at("/api/asks/", || Deed::Say(200, json!({"status": "sealed"}))), "is not a hub");
    in_trouble(at("/api/asks/", || Deed::Say(302, json!({}))), "is not a hub");
}

#[test]
fn a_hub_that_hangs_up_blocks() {
    in_trouble(at(EVERYWHERE, || Deed::Close), "cannot be reached");
    let cut =
        || Deed::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"status\":\"allowed\",".to_vec());
    in_trouble(at(EVERYWHERE, cut), "Unavailable");
    in_trouble(at("/api/asks/", cut), "Unavailable");
}

#[test]
fn an_endless_answer_blocks() {
    let endless = || {
        let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1 << 30).into_bytes();
        bytes.resize(bytes.len() + 9 * 1024 * 1024, b' ');
        Deed::Raw(bytes)
    };
    in_trouble(at("/api/me", endless), "is not a hub");
}

#[test]
fn a_hub_that_refuses_blocks_and_each_refusal_has_its_words() {
    in_trouble(at("/api/me", || problem(401, "unauthorized")), "does not know this machine's token");
    in_trouble(at("/api/asks", || problem(403, "forbidden")), "may not ask for this executor");
    in_trouble(at("/api/asks", || problem(413, "too_large")), "too large");
    in_trouble(at("/api/asks", || problem(422, "unprocessable")), "cannot show this input");
    in_trouble(at("/api/asks", || problem(429, "too_many")), "too many asks");
    in_trouble(at("/api/asks", || problem(500, "internal")), "(500 internal)");
    in_trouble(at("/api/asks", || problem(503, "unavailable")), "(503 unavailable)");
}

#[test]
fn the_hubs_own_words_never_reach_the_agent() {
    let seat = Seat::with(|_| {
        Script::new(|_, _| status("pending")).but(at("/api/asks", || problem(400, "malformed")))
    });
    let outcome = seat.hook(&bash("PreToolUse", "ls"), 6);
    assert!(!outcome.stdout.clone().unwrap().contains("hub's words"), "{outcome:?}");
    assert!(outcome.stderr.iter().any(|line| line.contains("the hub's words")), "{outcome:?}");
}

#[test]
fn a_token_revoked_while_the_ask_waits_ends_the_wait() {
    let seat = Seat::with(|_| {
        Script::new(|_, polls| if polls == 0 { status("pending") } else { problem(401, "unauthorized") })
    });
    let outcome = seat.hook(&bash("PreToolUse", "ls"), 60);
    blocked(&outcome, "does not know this machine's token");
}

#[test]
fn clocks_an_hour_apart_block_before_anybody_is_asked() {
    for off_ms in [3_600_000, -3_600_000] {
        let mut seat = Seat::approving();
        seat.off_ms = off_ms;
        blocked(&seat.hook(&bash("PreToolUse", "ls"), 20), "clock and the hub's differ by 3");
        assert!(seat.asks().is_empty());
    }
}

#[test]
fn a_hub_that_comes_back_while_the_ask_waits_is_found_again() {
    let seat = Seat::with(|key| {
        Script::new(move |item, polls| match polls {
            0 => status("pending"),
            1 => Deed::Close,
            2 => problem(503, "unavailable"),
            _ => approved(&key, item),
        })
    });
    assert_eq!(gate(&seat.hook(&bash("PreToolUse", "ls"), 30)).0, "allow");
}

#[test]
fn expired_cancelled_and_superseded_have_words_of_their_own() {
    for (word, words) in [
        ("expired", "Expired: nobody answered"),
        ("cancelled", "Cancelled: the ask was withdrawn"),
        ("superseded", "Superseded: this ask was answered"),
    ] {
        let seat = Seat::with(|_| Script::new(move |_, _| status(word)));
        blocked(&seat.hook(&bash("PreToolUse", "ls"), 20), words);
        no_decision(&seat.hook(&bash("PermissionRequest", "ls"), 20), words);
        assert!(seat.kept().is_empty());
    }
}

type Spoil = fn(&Seat);

#[test]
fn an_unfit_home_blocks() {
    let spoilt: [(&str, Spoil); 6] = [
        ("home cannot be used", |seat| fs::remove_file(seat.file("executor.toml")).unwrap()),
        ("home cannot be used", |seat| fs::write(seat.file("executor.toml"), "hub = 1").unwrap()),
        ("home cannot be used", |seat| chmod(seat, "executor.toml", 0o666)),
        ("token cannot be used", |seat| chmod(seat, "token", 0o644)),
        ("token cannot be used", |seat| fs::remove_file(seat.file("token")).unwrap()),
        ("grants cannot be read", |seat| testkit::write_private(&seat.file("grants/x.toml"), "grant = 1")),
    ];
    for (words, spoil) in spoilt {
        let seat = Seat::approving();
        spoil(&seat);
        blocked(&seat.hook(&bash("PreToolUse", "make"), 20), words);
        no_decision(&seat.hook(&bash("PermissionRequest", "make"), 20), words);
    }
}

fn chmod(seat: &Seat, name: &str, mode: u32) {
    fs::set_permissions(seat.file(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_working_directory_that_is_not_there_blocks() {
    let seat = Seat::approving();
    let event = bash("PreToolUse", "ls");
    for cwd in ["/nonexistent/folder", "relative", ""] {
        blocked(
            &seat.hook(&event.replace(&format!(r#""cwd":"{CWD}""#), &format!(r#""cwd":"{cwd}""#)), 20),
            "working directory",
        );
    }
}

#[test]
fn the_folder_that_is_asked_for_is_the_real_one() {
    let seat = Seat::approving();
    let folder = Temp::new();
    std::os::unix::fs::symlink(CWD, folder.join("link")).unwrap();
    let link = folder.join("link").display().to_string();
    let event = bash("PreToolUse", "ls").replace(&format!(r#""cwd":"{CWD}""#), &format!(r#""cwd":"{link}""#));
    assert_eq!(gate(&seat.hook(&event, 20)).0, "allow");
    assert_eq!(seat.asks()[0]["cwd"], CWD);
}

#[test]
fn what_is_no_event_blocks_like_a_gate() {
    let seat = Seat::approving();
    let twice =
        bash("PreToolUse", "ls").replace(r#""command":"ls""#, r#""command":"ls","command":"rm -rf /""#);
    let large = bash("PreToolUse", &"a".repeat(1024 * 1024));
    let odd: [Vec<u8>; 6] = [
        Vec::new(),
        b"[]".to_vec(),
        b"{".to_vec(),
        b"{\"x\":\"\xff\"}".to_vec(),
        twice.into_bytes(),
        large.into_bytes(),
    ];
    for bytes in odd {
        let outcome = seat.hook_bytes(bytes, 20);
        blocked(&outcome, "Blocked: the event is");
        assert_eq!(outcome.exit, 2, "which blocks even where the form is not understood");
    }
    assert!(seat.asks().is_empty());
}

#[test]
fn an_event_of_another_name_gets_no_decision() {
    let seat = Seat::approving();
    let outcome = seat.hook(&bash("UserPromptSubmit", "ls"), 20);
    no_decision(&outcome, "`UserPromptSubmit` is not an event Sealward answers");
    assert_eq!(outcome.exit, 0);
}

#[test]
fn a_known_event_without_its_input_blocks_in_its_own_form() {
    let seat = Seat::approving();
    for event in ["PreToolUse", "PermissionRequest"] {
        let outcome = seat.hook(&bash(event, "ls").replace("tool_input", "tool_inputs"), 20);
        if event == "PreToolUse" {
            blocked(&outcome, "no `tool_input`");
        } else {
            no_decision(&outcome, "no `tool_input`");
        }
        assert_eq!(outcome.exit, 0);
    }
}

/// Standard input that breaks, in the one way or the other.
struct Broken(bool);

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        assert!(!self.0, "a panic inside the hook");
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn a_panic_and_a_stall_inside_the_hook_block() {
    for (panics, words) in [(true, "broke down"), (false, "did not come to an end")] {
        let home = Temp::new();
        let job = Job {
            shape: Shape::of("claude").unwrap(),
            home: home.path().to_path_buf(),
            wait: std::time::Duration::from_secs(6),
            random: [7; 16],
            stdin: Box::new(Broken(panics)),
        };
        let clock: Arc<dyn executor::Clock> = Arc::new(crate::seat::Watch::start(0));
        let outcome = run(job, &clock);
        assert!(clock.elapsed() < std::time::Duration::from_secs(6));
        blocked(&outcome, words);
        assert_eq!(outcome.exit, 2);
    }
}
