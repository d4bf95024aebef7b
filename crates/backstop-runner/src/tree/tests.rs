//! One tree serves all of these, because there can be only one in a process.

use std::process::{Command, Stdio};

use super::*;

fn tree() -> Tree {
    Tree {
        run: RunId::new(1, 1),
        containment: Containment::Group,
        control_group: None,
        owned: Arc::default(),
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn an_exit_code_and_a_signal_are_told_apart_and_told_again() {
    runtime().block_on(async {
        let tree = tree();
        let mut child = tree.spawn(Command::new("sh").args(["-c", "exit 7"])).unwrap();
        let exit = Exit { code: Some(7), signal: None };
        assert_eq!(child.wait().await.unwrap(), exit);
        assert_eq!(child.wait().await.unwrap(), exit);
        assert_eq!(child.try_wait().unwrap(), Some(exit));

        let mut child = tree.spawn(Command::new("sh").args(["-c", "kill -9 $$"])).unwrap();
        assert_eq!(child.wait().await.unwrap(), Exit { code: None, signal: Some(9) });
    });
}

#[test]
fn a_child_leads_its_group_and_knows_its_run() {
    runtime().block_on(async {
        let tree = tree();
        let script =
            "echo $BACKSTOP_RUN_ID; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut child = tree.spawn(&mut command).unwrap();
        let output = io::read_to_string(child.take_stdout().unwrap()).unwrap();
        let words: Vec<&str> = output.split_whitespace().collect();
        assert_eq!(words, [tree.run.as_str(), child.pid().to_string().as_str()]);
        assert!(child.wait().await.unwrap().is_success());
    });
}

#[test]
fn a_wait_that_was_given_up_can_be_taken_up_again() {
    runtime().block_on(async {
        let tree = tree();
        let mut child = tree.spawn(Command::new("sleep").arg("60")).unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(20), child.wait()).await;
        assert!(waited.is_err());
        assert_eq!(child.try_wait().unwrap(), None);
        child.signal(Signal::SIGTERM);
        assert_eq!(child.wait().await.unwrap().signal, Some(15));
    });
}

#[test]
fn a_stopped_child_sees_the_signal_that_ends_it() {
    runtime().block_on(async {
        let tree = tree();
        let mut child = tree.spawn(Command::new("sh").args(["-c", "kill -STOP $$"])).unwrap();
        while Process::read(child.pid()).unwrap().state != 'T' {
            tokio::task::yield_now().await;
        }
        child.signal(Signal::SIGTERM);
        assert_eq!(child.wait().await.unwrap().signal, Some(15));
    });
}

#[test]
fn a_program_that_does_not_exist_is_an_error_and_owns_nothing() {
    let tree = tree();
    let error = tree.spawn(&mut Command::new("/nonexistent/program")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(tree.owned.children().is_empty());
}
