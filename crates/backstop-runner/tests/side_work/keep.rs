//! The work is kept at a halt.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use backstop_runner::keep;

use crate::support::{TestRepository, on_a_runtime, run_id, tree};

fn keep(cwd: &Path, iteration: u64) -> Option<String> {
    on_a_runtime(async { keep::keep(cwd, run_id(), iteration, "stalled", &tree()).await.unwrap() })
}

#[test]
fn everything_but_what_is_ignored_becomes_a_commit_and_nothing_else_changes() {
    let repository = TestRepository::new();
    repository.write(".gitignore", "secret\n");
    repository.write("gone", "1\n");
    repository.commit("second");
    repository.write("a", "2\n");
    repository.write("staged", "1\n");
    repository.run(&["add", "staged"]);
    repository.write("sub/untracked", "1\n");
    repository.write("secret", "1\n");
    fs::remove_file(repository.path().join("gone")).unwrap();
    let hook = repository.path().join(".git/hooks/reference-transaction");
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    repository.run(&["config", "commit.gpgSign", "true"]);

    let picture = || {
        let status = repository.run(&["status", "--porcelain"]);
        let refs = repository.run(&["for-each-ref", "refs/heads", "refs/tags", "refs/stash"]);
        let index = fs::read(repository.path().join(".git/index")).unwrap();
        (status, refs, index, repository.run(&["symbolic-ref", "HEAD"]))
    };
    let before = picture();
    let kept = keep(&repository.path().join("sub"), 4).unwrap();
    assert!(picture() == before);

    assert_eq!(kept, format!("refs/backstop/{}/4", run_id()));
    let listed = repository.run(&["ls-tree", "-r", "--name-only", &kept]);
    assert_eq!(listed, ".gitignore\na\nstaged\nsub/untracked");
    assert_eq!(repository.run(&["show", &format!("{kept}:a")]), "2");
    let format = "--format=%P|%an <%ae>|%cn <%ce>|%s";
    let head = repository.run(&["rev-parse", "HEAD"]);
    assert_eq!(
        repository.run(&["log", "-1", format, &kept]),
        format!("{head}|backstop <backstop@localhost>|backstop <backstop@localhost>|stalled")
    );
    let left = fs::read_dir(repository.path().join(".git")).unwrap();
    let left = left.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.contains("backstop")).count(), 0);
}

#[test]
fn a_clean_work_tree_is_kept_as_head() {
    let repository = TestRepository::new();
    let kept = keep(&repository.path(), 1).unwrap();
    assert_eq!(repository.run(&["rev-parse", &kept]), repository.run(&["rev-parse", "HEAD"]));
}

#[test]
fn what_an_earlier_halt_kept_under_the_same_name_stays_reachable() {
    let repository = TestRepository::new();
    repository.write("a", "2\n");
    let kept = keep(&repository.path(), 1).unwrap();
    let first = repository.run(&["rev-parse", &kept]);
    keep(&repository.path(), 1);
    assert_eq!(repository.run(&["rev-parse", &kept]), first, "nothing new to keep");
    repository.write("a", "3\n");
    keep(&repository.path(), 1);
    assert_eq!(repository.run(&["show", &format!("{kept}:a")]), "3");
    assert_eq!(repository.run(&["rev-parse", &format!("{kept}^2")]), first);
}

#[test]
fn work_is_kept_before_the_first_commit_too() {
    let repository = TestRepository::without_commits();
    assert_eq!(keep(&repository.path(), 1), None, "nothing is there");
    repository.write("a", "1\n");
    let kept = keep(&repository.path(), 1).unwrap();
    assert_eq!(repository.run(&["show", &format!("{kept}:a")]), "1");
    assert_eq!(repository.run(&["status", "--porcelain"]), "?? a");
}

#[test]
fn outside_a_repository_there_is_nothing_to_keep_it_in() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(keep(folder.path(), 1), None);
}

#[test]
fn a_broken_repository_is_an_error_that_says_so() {
    let repository = TestRepository::new();
    fs::write(repository.path().join(".git/HEAD"), "nonsense").unwrap();
    let kept = on_a_runtime(async {
        keep::keep(&repository.path(), run_id(), 1, "stalled", &tree()).await
    });
    let message = kept.unwrap_err().to_string();
    assert!(message.starts_with("`git rev-parse` failed"), "{message}");
}
