//! From inside a command: what cannot be reached, and what stops it.

use std::{fs, os::unix::net::UnixListener};

use proto::limits;
use serde_json::{Value, json};

use crate::broker::{Broker, Line};

const EXEC: &str = "[[grant]]\nname = 'x'\ntool = 'exec'\neffect = 'allow'\n";
const STRICT: &str = "[exec]\nsandbox = 'strict'\n";

struct Scene {
    broker: Broker,
    line: Line,
}

impl Scene {
    fn new() -> Self {
        let broker = Broker::new(EXEC, STRICT);
        let folder = broker.home.folder("work");
        // The command runs as nobody where the broker is root.
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let line = Line::open(&broker);
        Self { broker, line }
    }

    fn run(&mut self, argv: &[&str], timeout_s: u64) -> Value {
        let cwd = self.broker.home.join("work");
        self.line.call(1, "exec", &json!({ "argv": argv, "cwd": cwd, "timeout_s": timeout_s }));
        self.line.result()
    }

    fn python(&mut self, program: &str) -> String {
        // In a file: what a command line names is looked at, and these programs name what only a person may allow.
        fs::write(self.broker.home.join("work/program"), program).unwrap();
        let result = self.run(&["python3", "program"], 60);
        result["content"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    }
}

#[test]
fn a_command_runs_and_may_change_its_own_folder_only() {
    let mut scene = Scene::new();
    let result = scene.run(&["touch", "made"], 60);
    assert_eq!(result["content"], "\n[exit 0]", "{result}");
    assert!(scene.broker.home.join("work/made").exists());
    let said = scene.python(
        "import os\nfor p in ['/usr/x','/etc/x','/x','/var/x','../x','/dev/x','/proc/sys/kernel/core_pattern']:\n try: open(p,'w'); print('WROTE', p)\n except OSError as e: print('no', p)\nopen('/tmp/ok','w')\nprint('own tmp')",
    );
    assert!(!said.contains("WROTE") && said.contains("own tmp") && said.ends_with("[exit 0]"), "{said}");
    assert!(!std::path::Path::new("/tmp/ok").exists());
}

#[test]
fn no_socket_no_network_no_other_process_no_other_users_file() {
    let mut scene = Scene::new();
    let socket = scene.broker.home.join("work/other.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let own = scene.broker.socket().display().to_string();
    let said = scene.python(&format!(
        "import socket, os, ctypes\n\
         for f, a in [(socket.AF_UNIX,'{own}'),(socket.AF_UNIX,'other.sock'),(socket.AF_INET,('127.0.0.1',1))]:\n \
         try:\n  s=socket.socket(f); s.connect(a); print('REACHED', a)\n except PermissionError: print('refused')\n\
         print('sees', os.path.exists('{own}'), os.path.exists('/run'), os.path.exists('/root'), os.path.exists('/var'))\n\
         print('pids', sorted(p for p in os.listdir('/proc') if p.isdigit()))\n\
         libc=ctypes.CDLL(None, use_errno=True); print('ptrace', libc.ptrace(16, 1, 0, 0))\n\
         print('interfaces', os.listdir('/sys/class/net') if os.path.exists('/sys/class/net') else 'none')\n\
         try: print('READ', open('/etc/shadow').read())\n\
         except OSError: print('no shadow')\n"
    ));
    assert_eq!(said.matches("refused").count(), 3, "{said}");
    assert!(said.contains("sees False False False False"), "{said}");
    assert!(said.contains("pids ['1']"), "{said}");
    assert!(
        said.contains("ptrace -1") && said.contains("interfaces none") && said.contains("no shadow"),
        "{said}"
    );
    assert!(!said.contains("REACHED") && !said.contains("READ"), "{said}");
}

#[test]
fn time_output_processes_and_background_children_are_bounded_and_said() {
    let mut scene = Scene::new();
    let late = scene.run(&["sleep", "60"], 1);
    assert!(late["content"].as_str().unwrap().contains("[ended: 1 s were over]"), "{late}");
    let loud = scene.run(&["yes"], 60);
    let content = loud["content"].as_str().unwrap();
    assert!(
        content.contains("bytes of output]") && content.len() < limits::RESULT_BYTES,
        "{}",
        content.len()
    );
    let bomb = scene.python("import os\nn=0\ntry:\n while True:\n  if os.fork()==0: os.pause() if hasattr(os,'pause') else __import__('signal').pause()\n  n+=1\nexcept OSError: print('stopped', n < 300)");
    assert!(bomb.contains("stopped True"), "{bomb}");
    let pid_file = scene.broker.home.join("work/late");
    let parent = scene.run(&["sh", "-c", "(sleep 2; touch late) & exit 3"], 60);
    assert_eq!(parent["content"], "\n[exit 3]");
    // The namespace ended with its first process: the child did not live to touch the file. Another run takes as long.
    assert_eq!(scene.run(&["sleep", "3"], 60)["content"], "\n[exit 0]");
    assert!(!pid_file.exists());
}

#[test]
fn what_cannot_be_started_is_said_and_a_grant_for_exec_demands_the_sandbox() {
    let mut scene = Scene::new();
    let missing = scene.run(&["no-such-program"], 60);
    assert_eq!(missing["outcome"], "failed", "{missing}");
    assert!(missing["text"].as_str().unwrap().contains("`no-such-program` cannot be started"), "{missing}");
    let loose = Broker::laid_out(EXEC, "");
    let run = loose.program("serve").run();
    assert_eq!(run.code, Some(3));
    assert!(run.err().contains("sandbox = \"strict\""), "{}", run.err());
}

#[test]
fn a_pattern_allows_whole_commands_and_no_more() {
    let grant = "[[grant]]\nname = 'x'\ntool = 'exec'\neffect = 'allow'\ncommand = ['echo *']\n";
    let broker = Broker::new(grant, STRICT);
    let folder = broker.home.folder("work");
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut line = Line::open(&broker);
    let mut outcome = |argv: &[&str]| {
        line.call(1, "exec", &json!({ "argv": argv, "cwd": folder }));
        line.result()["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome(&["echo", "hello"]), "ok");
    assert_eq!(outcome(&["echo", "a; touch b"]), "ok");
    assert!(!folder.join("b").exists());
    for argv in [&["touch", "b"][..], &["echo hello"], &["sh", "-c", "echo hello"], &["echo", "-e", "x"]] {
        assert_eq!(outcome(argv), "denied", "{argv:?}");
    }
}
