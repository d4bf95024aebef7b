//! Trees of groups alone, because others have children in this process too.

use std::process::{Command, Stdio};

use super::*;

fn tree() -> Tree {
    Tree::of_groups(RunId::new(1, 1))
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

#[test]
fn processor_time_counts_while_a_child_runs_and_after_it_has_ended() {
    runtime().block_on(async {
        let tree = tree();
        let before = tree.cpu_time();
        let mut child = tree.spawn(Command::new("sh").args(["-c", "while :; do :; done"])).unwrap();
        let busy = before + Duration::from_millis(50);
        while tree.cpu_time() < busy {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        child.signal(Signal::SIGKILL);
        child.wait().await.unwrap();
        assert!(tree.cpu_time() >= busy);
    });
}

#[test]
fn a_child_that_nobody_waits_for_is_ended_by_a_sweep() {
    runtime().block_on(async {
        let tree = tree();
        let waited_for = tree.spawn(Command::new("sleep").arg("60")).unwrap();
        let dropped = tree.spawn(Command::new("sleep").arg("60")).unwrap();
        let (kept, given_up) = (waited_for.pid(), dropped.pid());
        drop(dropped);
        let swept = tree.sweep(Duration::from_secs(60)).await;
        let found: Vec<u32> = swept.found.iter().map(|leftover| leftover.pid).collect();
        assert_eq!((found, swept.killed), (vec![given_up], 0));
        assert!(Process::read(given_up).is_none(), "it was collected");
        assert!(Process::read(kept).is_some_and(|process| !process.has_ended()));
        waited_for.signal(Signal::SIGKILL);
    });
}

#[test]
fn a_tree_of_groups_leaves_everybody_else_alone() {
    runtime().block_on(async {
        let mut stranger = Command::new("sleep").arg("60").spawn().unwrap();
        let mut ended_stranger = Command::new("true").spawn().unwrap();
        let tree = tree();
        let mut child = tree.spawn(Command::new("sh").args(["-c", "sleep 60 & :"])).unwrap();
        child.wait().await.unwrap();
        assert_eq!(tree.leftovers().len(), 1);
        tree.signal(Signal::SIGTERM, &[]);
        tree.sweep(Duration::from_secs(60)).await;
        assert_eq!(tree.leftovers(), []);
        assert!(stranger.try_wait().unwrap().is_none());
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        assert!(ended_stranger.wait().unwrap().success(), "it was left for us to collect");
    });
}

#[test]
fn a_spared_child_gets_no_signal() {
    runtime().block_on(async {
        let tree = tree();
        let mut spared = tree.spawn(Command::new("sleep").arg("60")).unwrap();
        let mut other = tree.spawn(Command::new("sleep").arg("60")).unwrap();
        tree.signal(Signal::SIGTERM, &[&spared]);
        assert_eq!(other.wait().await.unwrap().signal, Some(15));
        assert_eq!(spared.try_wait().unwrap(), None);
        spared.signal(Signal::SIGKILL);
        assert_eq!(spared.wait().await.unwrap().signal, Some(9));
    });
}
