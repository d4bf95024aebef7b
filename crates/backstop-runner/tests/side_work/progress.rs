//! Progress as repositories, task lists and files show it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use backstop_core::document::Syntax;
use backstop_core::event::{EventKind, ProgressKind, Tests};
use backstop_core::policy::{Policy, ProgressSettings};
use backstop_runner::progress::ProgressSources;

use crate::support::{TestRepository, on_a_runtime, tree};

fn settings(section: &str) -> ProgressSettings {
    let text = format!("[progress]\n{section}");
    Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy.settings.progress.unwrap()
}

async fn begin(section: Option<&str>, cwd: &Path, seen: PathBuf) -> ProgressSources {
    let settings = section.map(settings);
    ProgressSources::begin(settings.as_ref(), true, cwd, seen, tree()).await
}

/// What an iteration that does this shows.
async fn iteration(sources: &mut ProgressSources, work: impl FnOnce()) -> Vec<ProgressKind> {
    sources.baseline().await;
    work();
    kinds(&sources.measure().await)
}

fn kinds(events: &[EventKind]) -> Vec<ProgressKind> {
    let kind = |event: &EventKind| match event {
        EventKind::Progress(progress) => Some(progress.kind),
        _ => None,
    };
    events.iter().filter_map(kind).collect()
}

const NONE: [ProgressKind; 0] = [];
const TREE: [ProgressKind; 1] = [ProgressKind::Tree];
const COMMIT: [ProgressKind; 1] = [ProgressKind::Commit];
const BOTH: [ProgressKind; 2] = [ProgressKind::Commit, ProgressKind::Tree];

#[test]
fn what_was_dirty_before_is_no_progress_and_what_is_new_is() {
    let repository = TestRepository::new();
    repository.write("a", "dirty\n");
    repository.write("untracked", "dirty\n");
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        assert_eq!(iteration(&mut sources, || {}).await, NONE);
        assert_eq!(iteration(&mut sources, || repository.write("a", "2\n")).await, TREE);
        assert_eq!(iteration(&mut sources, || repository.write("new", "1\n")).await, TREE);
        let stage = || drop(repository.run(&["add", "new"]));
        assert_eq!(iteration(&mut sources, stage).await, NONE, "staging changes nothing");
        let remove = || fs::remove_file(repository.path().join("untracked")).unwrap();
        assert_eq!(iteration(&mut sources, remove).await, TREE);
        assert_eq!(sources.warnings(), [""; 0]);
    });
}

#[test]
fn what_changes_between_iterations_is_nobodys_progress() {
    let repository = TestRepository::new();
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        assert_eq!(iteration(&mut sources, || {}).await, NONE);
        repository.write("a", "by somebody else\n");
        assert_eq!(iteration(&mut sources, || {}).await, NONE);
    });
}

#[test]
fn a_commit_is_progress_also_of_what_lay_about_but_not_an_empty_one() {
    let repository = TestRepository::new();
    repository.write("a", "dirty\n");
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        sources.baseline().await;
        repository.commit("keep what lay about");
        let events = sources.measure().await;
        assert_eq!(kinds(&events), COMMIT);
        let EventKind::Progress(progress) = &events[0] else { panic!("{events:?}") };
        assert_eq!(progress.note.as_deref(), Some("keep what lay about"));
        let work_and_commit = || {
            repository.write("b", "1\n");
            repository.commit("more");
        };
        assert_eq!(iteration(&mut sources, work_and_commit).await, BOTH);
        assert_eq!(iteration(&mut sources, || repository.commit("empty")).await, NONE);
        let back = || drop(repository.run(&["reset", "-q", "--hard", "HEAD~2"]));
        assert_eq!(iteration(&mut sources, back).await, NONE);
    });
}

#[test]
fn a_state_seen_before_is_no_progress_three_iterations_later_and_after_a_resume() {
    let repository = TestRepository::new();
    let seen = repository.beside("seen");
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), seen.clone()).await;
        let edit = |text: &'static str| || repository.write("a", text);
        let edit_and_revert = || {
            repository.write("a", "2\n");
            repository.write("a", "1\n");
        };
        assert_eq!(iteration(&mut sources, edit_and_revert).await, NONE);
        for text in ["2\n", "3\n", "4\n"] {
            assert_eq!(iteration(&mut sources, edit(text)).await, TREE, "{text}");
        }
        for text in ["1\n", "2\n", "3\n"] {
            assert_eq!(iteration(&mut sources, edit(text)).await, NONE, "{text}");
        }
        drop(sources);
        let mut resumed = begin(None, &repository.path(), seen).await;
        assert_eq!(iteration(&mut resumed, edit("4\n")).await, NONE);
        assert_eq!(iteration(&mut resumed, edit("5\n")).await, TREE);
        let revert = || {
            repository.commit("five");
            repository.write("a", "1\n");
            repository.commit("one");
        };
        assert_eq!(iteration(&mut resumed, revert).await, NONE);
    });
}

#[test]
fn ignored_files_are_no_progress() {
    let repository = TestRepository::new();
    repository.write(".gitignore", "build/\n");
    repository.commit("ignore");
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        assert_eq!(iteration(&mut sources, || repository.write("build/x", "1")).await, NONE);
    });
}

#[test]
fn a_look_leaves_nothing_behind_in_the_repository() {
    let repository = TestRepository::new();
    repository.write("staged", "1\n");
    repository.run(&["add", "staged"]);
    repository.write("staged", "2\n");
    repository.write("untracked", "1\n");
    let hook = repository.path().join(".git/hooks/post-index-change");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", repository.beside("hooked").display()))
        .unwrap();
    fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    let picture = || {
        let index = fs::read(repository.path().join(".git/index")).unwrap();
        (index, all_paths(&repository.path()))
    };
    let before = picture();
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        assert_eq!(iteration(&mut sources, || {}).await, NONE);
        assert!(picture() == before);
    });
    assert!(!repository.beside("hooked").exists());
    let left: Vec<_> = all_paths(&repository.beside("seen.git"));
    assert_eq!(left, [repository.beside("seen.git/index")], "objects are removed");
}

fn all_paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
            } else {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
}

#[test]
fn a_repository_without_commits_a_sub_directory_and_a_worktree_all_work() {
    let repository = TestRepository::without_commits();
    fs::create_dir(repository.path().join("sub")).unwrap();
    on_a_runtime(async {
        let sub = repository.path().join("sub");
        let mut sources = begin(None, &sub, repository.beside("seen")).await;
        assert_eq!(iteration(&mut sources, || repository.write("a", "1\n")).await, TREE);
        assert_eq!(iteration(&mut sources, || repository.commit("first")).await, COMMIT);
        assert_eq!(sources.warnings(), [""; 0]);

        let other = repository.beside("other");
        repository.run(&["worktree", "add", "-q", "-b", "side", other.to_str().unwrap()]);
        let mut sources = begin(None, &other, repository.beside("seen-other")).await;
        assert_eq!(iteration(&mut sources, || repository.write("b", "1\n")).await, NONE);
        let edit = || fs::write(other.join("b"), "2\n").unwrap();
        assert_eq!(iteration(&mut sources, edit).await, TREE);
        assert_eq!(sources.warnings(), [""; 0]);
    });
}

#[test]
fn a_commit_in_a_sub_module_is_a_change_of_the_tree() {
    let library = TestRepository::new();
    let repository = TestRepository::new();
    repository.run(&["submodule", "--quiet", "add", library.path().to_str().unwrap(), "lib"]);
    repository.commit("with a library");
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        assert_eq!(iteration(&mut sources, || {}).await, NONE);
        let commit = || {
            let inner = repository.path().join("lib");
            repository.git(&["commit", "-q", "--allow-empty", "-m", "inner"], &inner);
        };
        assert_eq!(iteration(&mut sources, commit).await, TREE);
        assert_eq!(sources.warnings(), [""; 0]);
    });
}

#[test]
fn a_broken_repository_is_warned_of_once() {
    let repository = TestRepository::new();
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        fs::remove_dir_all(repository.path().join(".git/objects")).unwrap();
        assert_eq!(iteration(&mut sources, || {}).await, NONE);
        assert_eq!(sources.warnings().len(), 1);
        assert_eq!(iteration(&mut sources, || {}).await, NONE);
        assert_eq!(sources.warnings(), [""; 0]);
        fs::write(repository.path().join(".git/HEAD"), "nonsense").unwrap();
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        let warnings = sources.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("git"), "{warnings:?}");
    });
}

#[test]
fn a_repository_within_is_looked_into() {
    let repository = TestRepository::new();
    // One without a commit can't be added to another.
    repository.git(&["init", "-q", "inner"], &repository.path());
    on_a_runtime(async {
        let mut sources = begin(None, &repository.path(), repository.beside("seen")).await;
        assert_eq!(iteration(&mut sources, || repository.write("a", "2\n")).await, TREE);
        assert_eq!(iteration(&mut sources, || repository.write("inner/b", "1\n")).await, TREE);
        assert_eq!(iteration(&mut sources, || ()).await, []);
        assert_eq!(sources.warnings(), Vec::<String>::new());
    });
}

#[test]
fn without_a_repository_files_show_progress_by_the_same_rules() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().join("work");
    fs::create_dir(&cwd).unwrap();
    let write = |text: &'static str| {
        let file = cwd.join("a");
        move || fs::write(file, text).unwrap()
    };
    on_a_runtime(async {
        let seen = folder.path().join("seen");
        let mut sources = begin(None, &cwd, seen.clone()).await;
        assert_eq!(iteration(&mut sources, write("1")).await, TREE);
        assert_eq!(iteration(&mut sources, write("2")).await, TREE);
        assert_eq!(iteration(&mut sources, write("1")).await, NONE);
        let mut resumed = begin(None, &cwd, seen.clone()).await;
        assert_eq!(iteration(&mut resumed, write("2")).await, NONE);
        let mut off = begin(Some("files = false"), &cwd, seen.clone()).await;
        assert_eq!(iteration(&mut off, write("3")).await, NONE);
        let mut unread = ProgressSources::begin(None, false, &cwd, seen.clone(), tree()).await;
        assert_eq!(iteration(&mut unread, write("4")).await, NONE);
        let asked = settings("files = true\ngit = true");
        let mut asked = ProgressSources::begin(Some(&asked), false, &cwd, seen, tree()).await;
        assert_eq!(iteration(&mut asked, write("5")).await, TREE);
        assert!(asked.warnings().iter().any(|warning| warning.contains("no repository")));
    });
}

#[test]
fn task_lists_are_told_when_they_change_and_taken_together() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path();
    fs::write(cwd.join("A.md"), "- [x] one\n- [ ] two\n").unwrap();
    on_a_runtime(async {
        let section = "tasks = ['A.md', 'B.md']\nfiles = false";
        let mut sources = begin(Some(section), cwd, cwd.join("seen")).await;
        let told = |events: Vec<EventKind>| match events.as_slice() {
            [] => None,
            [EventKind::Tasks(tasks)] => Some((tasks.total, tasks.done, tasks.queued)),
            other => panic!("{other:?}"),
        };
        assert_eq!(told(sources.baseline().await), Some((2, 1, 1)));
        assert_eq!(sources.current_task(), Some("two"));
        assert_eq!(told(sources.measure().await), None);
        fs::write(cwd.join("B.md"), "1. [ ] three\n").unwrap();
        fs::write(cwd.join("A.md"), "- [x] one\n- [x] two\n").unwrap();
        assert_eq!(told(sources.measure().await), Some((3, 2, 1)));
        assert_eq!(sources.current_task(), Some("three"));
        // A plan that was thrown away is not a plan that is done.
        fs::remove_file(cwd.join("A.md")).unwrap();
        fs::remove_file(cwd.join("B.md")).unwrap();
        assert_eq!(told(sources.measure().await), None);
        assert_eq!(sources.warnings(), [""; 0]);
        fs::create_dir(cwd.join("A.md")).unwrap();
        sources.measure().await;
        sources.measure().await;
        assert_eq!(sources.warnings().len(), 1);
    });
}

#[test]
fn tests_count_unless_they_are_switched_off_and_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let run = |passed: &[&str]| Tests {
        passed: passed.iter().map(|name| (*name).to_owned()).collect(),
        ..Tests::default()
    };
    on_a_runtime(async {
        let seen = folder.path().join("seen");
        let mut sources = begin(Some("files = false"), folder.path(), seen.clone()).await;
        assert_eq!(sources.tests(&run(&["a"])), None);
        let made = sources.tests(&run(&["a", "b"])).unwrap();
        assert_eq!(made.kind, ProgressKind::Tests);
        sources.measure().await;
        let mut resumed = begin(Some("files = false"), folder.path(), seen).await;
        assert_eq!(resumed.tests(&run(&["a", "b"])), None);
        assert!(resumed.tests(&run(&["a", "b", "c"])).is_some());
        let off = "tests = false\nfiles = false";
        let mut off = begin(Some(off), folder.path(), folder.path().join("other")).await;
        off.tests(&run(&["a"]));
        assert_eq!(off.tests(&run(&["a", "b"])), None);
    });
}
