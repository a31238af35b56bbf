//! `sealward up`: laying out a home, looking after the hub, and ending with it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use testkit::{Program, Temp, Terminal, until};

use crate::{SEALWARD, passkey, pinned, world};

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap_or_else(|error| panic!("{path:?}: {error}")).permissions().mode() & 0o777
}

#[test]
fn a_fresh_home_gets_a_name_a_port_a_token_and_files_for_its_owner_alone() {
    let mut world = world();
    let _link = world.enrol_link();
    let home = world.home();
    for folder in ["", "grants", "kept", "hub", "hub/proposals"] {
        assert_eq!(mode(&home.join(folder)), 0o700, "{folder}");
    }
    let files = [
        "executor.toml",
        "token",
        "approvers.json",
        "hub/hub.toml",
        "hub/name",
        "hub/approvers.json",
        "hub/enrol.json",
    ];
    for file in files {
        assert_eq!(mode(&home.join(file)), 0o600, "{file}");
    }
    let name = std::fs::read_to_string(home.join("hub/name")).unwrap();
    let letters = name.trim().strip_prefix("seal-").unwrap();
    assert!(letters.len() == 8 && letters.bytes().all(|b| b.is_ascii_lowercase()), "{name}");
    assert_eq!(world.origin(), format!("http://{}.localhost:{}", name.trim(), world.address().port()));

    let token = std::fs::read_to_string(home.join("token")).unwrap();
    let me = world.http().bearer(token.trim()).get("/api/me").expect(200).json();
    assert_eq!(me["name"], "claude");
    assert_eq!(me["role"], "hook");
    assert_eq!(me["executors"], serde_json::json!([world.hook_identity()]));
    assert!(world.hook_identity().starts_with("hook@"));
    assert_eq!(pinned(&world, "approvers.json"), Vec::<String>::new());
}

/// Every path below a folder, the folder too.
fn below(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    found.push(folder.to_owned());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, found) } else { found.push(path) }
    }
}

#[test]
fn no_umask_opens_anything_to_others() {
    let home = Temp::new();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = r#"umask 000; exec "$0" up --port 0 --home "$1""#;
    let mut up = Terminal::start("/bin/sh", ["-c", script, SEALWARD, home.path().to_str().unwrap()]);
    let _screen = up.shows("#enrol=");
    let mut found = Vec::new();
    below(home.path(), &mut found);
    assert!(found.iter().any(|path| path.ends_with("hub/hub.sqlite")), "{found:?}");
    let open: Vec<_> = found.iter().filter(|path| mode(path) & 0o077 != 0).collect();
    assert_eq!(open, Vec::<&std::path::PathBuf>::new());
    assert!(up.stop().success());
}

#[test]
fn a_configuration_the_hub_does_not_take_is_wrong_use_and_names_its_key() {
    let mut world = world();
    world.stop();
    let path = world.home().join("hub/hub.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    testkit::write_private(&path, &format!("{text}colour = 3\n"));
    let run = world.sealward(["up"]).run().expect(2);
    assert!(run.err().contains("hub.toml") && run.err().contains("colour"), "{}", run.err());
}

#[test]
fn ctrl_c_at_the_terminal_stops_hub_and_parent() {
    let mut world = world();
    let _link = world.enrol_link();
    world.terminal().types("\u{3}");
    assert!(world.terminal().ends().success());
}

#[test]
fn the_link_carries_128_bits_and_the_home_keeps_only_its_hash() {
    let mut world = world();
    let link = world.enrol_link();
    let code = link.strip_prefix(&format!("{}/#enrol=", world.origin())).unwrap().to_owned();
    assert_eq!(testkit::unb64(&code).len(), 16);
    let kept = std::fs::read_to_string(world.home().join("hub/enrol.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["code_sha256"], testkit::hex(&testkit::sha256(code.as_bytes())));
    assert_eq!(kept["tries"], 0);
    let left = kept["expires"].as_i64().unwrap() - testkit::now_ms();
    assert!((540_000..=600_000).contains(&left), "{left} ms");
}

#[test]
fn a_second_start_keeps_name_port_token_and_identity() {
    let mut world = world();
    let before: Vec<String> = ["hub/hub.toml", "hub/name", "token", "executor.toml"]
        .iter()
        .map(|file| std::fs::read_to_string(world.home().join(file)).unwrap())
        .collect();
    world.stop();
    world.start();
    let after: Vec<String> = ["hub/hub.toml", "hub/name", "token", "executor.toml"]
        .iter()
        .map(|file| std::fs::read_to_string(world.home().join(file)).unwrap())
        .collect();
    assert_eq!(before, after);
    let token = after.get(2).unwrap().trim();
    let _me = world.http().bearer(token).get("/api/me").expect(200);
}

#[test]
fn a_second_up_on_the_same_home_is_refused_and_the_first_goes_on() {
    let world = world();
    let second = world.sealward(["up"]).run().expect(3);
    assert!(second.err().contains("another `sealward up` runs on"), "{}", second.err());
    let _well = world.http().get("/healthz").expect(200);
}

#[test]
fn a_port_taken_on_either_loopback_is_refused_with_a_remedy_and_nothing_is_started() {
    for host in ["127.0.0.1", "::1"] {
        let other = TcpListener::bind((host, 0)).unwrap();
        let port = other.local_addr().unwrap().port().to_string();
        let home = Temp::new();
        let run =
            Program::new(SEALWARD).args(["up", "--port", &port, "--home"]).arg(home.path()).run().expect(3);
        assert!(run.err().contains("is taken") && run.err().contains("--port 0"), "{}", run.err());
        assert_eq!(run.out(), "");
    }
}

#[test]
fn the_page_may_move_until_a_key_is_pinned_for_it_and_not_after() {
    let mut world = world();
    world.stop();
    let home = world.home().to_str().unwrap().to_owned();
    let moved = |args: &[&str]| {
        let all = ["up", "--home", &home].into_iter().chain(args.iter().copied());
        let mut up = Terminal::start(SEALWARD, all);
        let screen = up.shows("#enrol=");
        assert!(up.stop().success(), "{screen}");
        screen
    };
    let port = world.address().port();
    assert!(moved(&["--name", "localhost"]).contains(&format!("http://localhost:{port}")));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    assert!(moved(&["--port", &free]).contains(&format!("http://localhost:{free}")));
    let executor = std::fs::read_to_string(world.home().join("executor.toml")).unwrap();
    assert!(executor.contains(&format!("http://127.0.0.1:{free}")), "{executor}");

    let key = passkey(&world);
    world.pin(&[&key], 1);
    let run = world.sealward(["up", "--name", "seal"]).run().expect(1);
    assert!(run.err().contains("keys are pinned for the page at"), "{}", run.err());
    assert!(
        moved(&["--port", &free]).contains(&format!("http://localhost:{free}")),
        "the same address is no move"
    );
}

#[test]
fn a_stop_reaches_the_hub_and_up_ends_with_its_code() {
    let mut world = world();
    let hub = world.hub_pid();
    let ended = world.terminal().stop();
    assert!(ended.success(), "{ended}");
    assert!(!std::path::Path::new(&format!("/proc/{hub}")).exists(), "the hub is gone");
}

#[test]
fn a_hub_that_ends_by_itself_is_said_aloud_and_not_started_again() {
    let mut world = world();
    world.signal_hub(rustix::process::Signal::KILL);
    let screen = world.terminal().shows("the hub ended by itself");
    assert!(screen.contains("not started again"), "{screen}");
    let ended = world.terminal().ends();
    assert_eq!(ended.code(), Some(128 + 9));
}

#[test]
fn a_killed_up_takes_its_hub_with_it() {
    let mut world = world();
    let hub = world.hub_pid();
    let parent = rustix::process::Pid::from_raw(i32::try_from(world.terminal().pid()).unwrap()).unwrap();
    rustix::process::kill_process(parent, rustix::process::Signal::KILL).unwrap();
    until("the hub follows its parent", || {
        !std::fs::read_to_string(format!("/proc/{hub}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    });
}
