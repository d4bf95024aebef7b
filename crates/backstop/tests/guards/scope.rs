//! What an iteration may change.

use std::fs;

use rustix::process::Signal;

use crate::support::looping::{Loop, send, wait_for};
use crate::{commit, git, repository, run, violated, violates};

const ALLOW: &str = "allow = ['src/**']";

#[test]
fn what_is_allowed_may_change_however() {
    let agent = "echo 2 > src/a.rs; echo 1 > src/new.rs; mkdir -p ignored; echo 1 > ignored/x
        git add src/new.rs; git commit -qam more; rm src/a.rs";
    let test = repository(ALLOW, agent);
    run(&test, &[]).exits(125);
    assert_eq!(violated(&test), []);
}

#[test]
fn every_way_to_change_what_is_not_allowed_is_seen() {
    for (change, files) in [
        ("echo 2 > docs/a.md", &["docs/a.md"][..]),
        ("echo 2 > docs/a.md; git add docs", &["docs/a.md"]),
        ("echo 2 > docs/a.md; git commit -qam x", &["docs/a.md"]),
        ("echo 2 > docs/a.md; git add docs; git checkout -q HEAD -- . ; echo 1 > new", &["new"]),
        ("rm docs/a.md", &["docs/a.md"]),
        ("git rm -q --cached docs/a.md", &["docs/a.md"]),
        ("chmod +x docs/a.md", &["docs/a.md"]),
        ("ln -sf a.md docs/link", &["docs/link"]),
        ("mkdir -p new/deep; echo 1 > new/deep/file", &["new/deep/file"]),
        ("mv docs/a.md src/", &["docs/a.md"]),
        ("git mv docs/a.md docs/b.md", &["docs/a.md", "docs/b.md"]),
        ("git checkout -q -b other; echo 2 > docs/a.md; git commit -qam x", &["docs/a.md"]),
        ("echo 2 > docs/a.md; git commit -qam x; git checkout -q HEAD~1 -- docs", &["docs/a.md"]),
        ("git init -q inner; echo 1 > inner/x", &["inner/x"]),
        ("git update-index --assume-unchanged docs/a.md; echo 2 > docs/a.md", &["docs/a.md"]),
        ("git update-index --skip-worktree docs/a.md; echo 2 > docs/a.md", &["docs/a.md"]),
        ("git update-index --skip-worktree docs/a.md; rm docs/a.md", &["docs/a.md"]),
        (
            "git update-index --index-version 4 --assume-unchanged docs/a.md; echo 2 > docs/a.md",
            &["docs/a.md"],
        ),
    ] {
        let test = repository(ALLOW, change);
        let ended = run(&test, &[]).exits(2);
        violates(&test, "scope", files);
        assert!(ended.stderr.contains(files[0]), "{}", ended.stderr);
        let state = test.state();
        assert_eq!(state["stop_reason"]["code"], "guard_violation", "{change}");
        assert_eq!(state["facts"]["iterations"], 1, "{change}");
    }
}

#[test]
fn what_git_was_told_before_not_to_look_at_is_no_change() {
    let test = repository(ALLOW, "true");
    let work = test.work();
    git(&work, &["update-index", "--skip-worktree", "docs/a.md", "tests/a.rs"]);
    fs::remove_file(work.join("docs/a.md")).expect("it was there");
    fs::write(work.join("tests/a.rs"), "2\n").expect("it can be written");
    run(&test, &[]).exits(125);
    assert_eq!(violated(&test), []);
}

#[test]
fn what_is_put_right_within_the_iteration_is_no_change() {
    let agent = "echo 2 > docs/a.md; git commit -qam x; git revert --no-edit HEAD > /dev/null
        touch docs/a.md; cp docs/a.md b; mv b docs/a.md";
    let test = repository(ALLOW, agent);
    run(&test, &[]).exits(125);
}

#[test]
fn what_is_denied_may_not_change_even_where_it_is_allowed() {
    let test = repository("allow = ['**']\ndeny = ['**/*.pem']", "echo 1 > src/key.pem");
    run(&test, &[]).exits(2);
    violates(&test, "scope", &["src/key.pem"]);
}

#[test]
fn lock_files_have_a_guard_of_their_own() {
    let agent = "echo 2 > Cargo.lock; mkdir -p web; echo 1 > web/package-lock.json";
    let test = repository(ALLOW, agent);
    let ended = run(&test, &[]).exits(3);
    violates(&test, "lockfile", &["Cargo.lock", "web/package-lock.json"]);
    assert!(ended.stderr.contains("--allow-lockfiles"), "{}", ended.stderr);
    let test = repository("lockfiles = 'allow'", agent);
    run(&test, &[]).exits(125);
    for flag in ["--allow-lockfiles", "--allow-deps"] {
        let test = repository(ALLOW, agent);
        run(&test, &[flag]).exits(125);
        let notes = crate::noted(&test, "guard_lifted");
        assert!(notes.len() == 1 && notes[0].contains("--allow-lockfiles"), "{notes:?}");
        test.run(["resume", "--raise", "iterations=5"]).exits(125);
    }
}

#[test]
fn what_was_changed_before_is_nobodys_doing_until_it_changes_again() {
    let guards = "allow = ['src/**']\nrequire_clean = false";
    let test = repository(guards, "git add -A; git commit -qam all").file("docs/a.md", "mine\n");
    let test = test.file("loose", "mine\n").file("Cargo.lock", "mine\n");
    run(&test, &[]).exits(125);
    let test = repository(guards, "echo theirs > docs/a.md").file("docs/a.md", "mine\n");
    let test = test.file("loose", "mine\n");
    run(&test, &[]).exits(2);
    violates(&test, "scope", &["docs/a.md"]);
    let test = repository(guards, "git checkout -q docs").file("docs/a.md", "mine\n");
    run(&test, &[]).exits(2);
    violates(&test, "scope", &["docs/a.md"]);
}

#[test]
fn only_the_iteration_that_changed_it_is_to_blame() {
    // Verification writes a lock file; the agent does not.
    let test = repository("", "true").script("verify.sh", "date +%N > Cargo.lock");
    commit_all(&test);
    let flags = ["--verify", "./verify.sh", "--max-iterations", "3"];
    test.run([&["run"], &flags[..], &["--", "./agent.sh"]].concat()).exits(125);
}

fn commit_all(test: &Loop) {
    git(&test.work(), &["add", "-A"]);
    git(&test.work(), &["commit", "-q", "-m", "more"]);
}

#[test]
fn a_run_in_a_sub_directory_sees_the_whole_repository() {
    let test = repository("allow = ['**']", "true");
    for (change, code, files) in [
        ("echo 2 > a.rs", 125, &[][..]),
        ("echo 2 > ../docs/a.md; echo 3 > ../top", 2, &["../docs/a.md", "../top"]),
    ] {
        git(&test.work(), &["checkout", "-q", "."]);
        let words = ["run", "--max-iterations", "1", "--", "sh", "-c", change];
        let mut command = test.command_in(&test.work().join("src"), words);
        test.launch(&mut command).ends().exits(code);
        let found: Vec<String> = violated(&test).into_iter().flat_map(|found| found.1).collect();
        assert_eq!(found, files);
        git(&test.work(), &["checkout", "-q", "."]);
        git(&test.work(), &["clean", "-qfd"]);
    }
}

#[test]
fn names_are_no_trouble() {
    let agent = r#"touch "$(printf 'a b')" "$(printf 'c\nd')" 'e"f' "$(printf 'g\377h')" 'ö' '*'"#;
    let test = repository(ALLOW, agent);
    run(&test, &[]).exits(2);
    violates(&test, "scope", &["*", "a b", "c\nd", "e\"f", "g\u{fffd}h", "ö"]);
}

#[test]
fn more_files_than_anybody_reads_are_not_all_named() {
    let test = repository(ALLOW, "for n in $(seq 1000 1400); do echo 1 > f$n; done");
    let ended = run(&test, &[]).exits(2);
    let files = &violated(&test)[0].1;
    assert_eq!((files.len(), files[0].as_str()), (100, "f1000"));
    assert!(ended.stderr.contains("and 97 more"), "{}", ended.stderr);
}

#[test]
fn sub_modules_are_folders_to_a_glob() {
    let agent = "case $BACKSTOP_ITERATION in
        1) echo 2 > vendor/lib/inner.c;;
        2) cd vendor/lib && git -c user.name=a -c user.email=a@b commit -qam x;;
        esac";
    for (guards, code) in [("allow = ['vendor/lib/**']", 125), (ALLOW, 2)] {
        let test = repository(guards, agent);
        let other = Loop::new().file("inner.c", "1\n");
        commit(&other);
        let place = other.work();
        let from = place.to_str().expect("text");
        git(&test.work(), &["submodule", "--quiet", "add", from, "vendor/lib"]);
        commit_all(&test);
        run(&test, &[]).exits(code);
        if code == 2 {
            violates(&test, "scope", &["vendor/lib/inner.c"]);
        }
    }
}

#[test]
fn what_is_committed_in_a_repository_within_is_seen() {
    let commit = "git add -A; git -c user.name=a -c user.email=a@b commit -qm x";
    let sub_module = |test: &Loop| {
        let other = Loop::new().file("inner.c", "1\n");
        super::commit(&other);
        let place = other.work();
        let from = place.to_str().expect("text");
        git(&test.work(), &["submodule", "--quiet", "add", from, "sub"]);
        commit_all(test);
        other
    };
    let key = format!("cd sub; echo 1 > key.pem; {commit}");
    let also_outside = format!("{key}; cd ..; {commit}");
    let new = format!("git init -q sub; {key}");
    let grown = format!(
        "[ $BACKSTOP_ITERATION = 1 ] && echo 1 > sub/a || echo 1 > sub/key.pem; cd sub; {commit}"
    );
    for (agent, is_new) in [(&key, false), (&also_outside, false), (&new, true), (&grown, false)] {
        let test = repository("deny = ['**/*.pem']", agent);
        let _kept = (!is_new).then(|| sub_module(&test));
        run(&test, &[]).exits(2);
        violates(&test, "scope", &["sub/key.pem"]);
    }
    // Who may change it there may commit it there.
    let own = format!("cd sub; mkdir -p src; echo $BACKSTOP_ITERATION > src/a; {commit}");
    let test = repository("allow = ['sub/src/**']", &own);
    let _kept = sub_module(&test);
    run(&test, &[]).exits(125);
    // One that is made anew, or forgot where it was, is looked at as a new one.
    let anew = format!(
        "rm -rf sub; git init -q sub; cd sub; mkdir src; echo $BACKSTOP_ITERATION > src/a; {commit}"
    );
    let forgetful = "cd sub; echo $BACKSTOP_ITERATION > src/a; git add -A
         git -c user.name=a -c user.email=a@b commit -q --amend -m $BACKSTOP_ITERATION
         git reflog expire --expire=now --all; git gc -q --prune=now";
    for agent in [anew.as_str(), forgetful] {
        let test = repository("allow = ['sub/src/**']", agent);
        let within = test.work().join("sub");
        git(&test.work(), &["init", "-q", "sub"]);
        let test = test.file("sub/src/a", "0\n");
        git(&within, &["add", "-A"]);
        git(&within, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]);
        commit_all(&test);
        run(&test, &[]).exits(125);
    }
    // Another work tree of the same repository is what is committed already.
    let grows = "[ -e side ] || git worktree add -q side -b side; cd side; echo 1 > docs/b.md";
    let test = repository("deny = ['**/*.pem']", grows);
    run(&test, &[]).exits(125);
    let test = repository("deny = ['**/*.pem']", &format!("{grows}; echo 1 > key.pem; {commit}"));
    run(&test, &[]).exits(2);
    violates(&test, "scope", &["side/key.pem"]);
    // What is in there is not put back, and nothing is removed that nobody keeps.
    let test = repository("deny = ['**/*.pem']\nrevert = true", &key);
    let _kept = sub_module(&test);
    let ended = run(&test, &[]).exits(2);
    assert!(test.exists("sub/key.pem"));
    assert!(ended.stderr.contains("repository of its own"), "{}", ended.stderr);
}

#[test]
fn a_work_tree_of_its_own_is_guarded_like_any_other() {
    let test = repository(ALLOW, "echo 2 > docs/a.md");
    let place = test.work().with_file_name("tree");
    git(&test.work(), &["worktree", "add", "-q", place.to_str().expect("text")]);
    let mut command = test.command_in(&place, ["run", "--", "./agent.sh"]);
    let ended = test.launch(&mut command).ends().exits(2);
    assert!(ended.stderr.contains("docs/a.md"), "{}", ended.stderr);
    assert_eq!(test.read("docs/a.md"), "1\n");
}

#[test]
fn without_a_repository_files_are_compared_one_by_one() {
    let policy = "[limits]\niterations = 2\n[guards]\nallow = ['src/**']\n";
    let plain = |agent: &str| {
        let test = Loop::new().file("backstop.toml", policy).script("agent.sh", agent);
        test.file("src/a", "1").file("b", "1")
    };
    let test = plain("echo 2 > src/a; touch b");
    let ended = run(&test, &[]).exits(125);
    assert!(ended.stderr.contains("no repository"), "{}", ended.stderr);
    let test = plain("echo 2 > b; echo 1 > c");
    run(&test, &[]).exits(2);
    violates(&test, "scope", &["b", "c"]);
}

#[test]
fn guards_that_can_not_be_checked_hold_the_run() {
    // The second iteration destroys what the guards look at.
    let agent = "[ $BACKSTOP_ITERATION = 2 ] && echo nonsense > .git/HEAD; true";
    let test = repository(ALLOW, agent);
    let ended = test.run(["run", "--until-success", "--verify", "[ -e x ]", "--", "./agent.sh"]);
    let ended = ended.exits(2);
    assert!(ended.stderr.contains("could not be checked"), "{}", ended.stderr);
    assert_eq!(test.state()["run_status"], "held");
    assert_eq!(crate::noted(&test, "unguarded").len(), 1);
    // Repaired, it goes on.
    fs::write(test.work().join(".git/HEAD"), "ref: refs/heads/main\n").expect("can be written");
    test.run(["resume"]).exits(125);
}

#[test]
fn what_an_iteration_did_before_its_supervisor_died_is_seen_on_resumption() {
    let agent = "echo x > outside; touch ignored/up; exec sleep 300";
    let test = repository("allow = ['src/**']", agent).file("ignored/x", "");
    let running = test.start(["run", "--", "./agent.sh"]);
    wait_for("the agent", || test.exists("ignored/up"));
    let all = test.marked();
    for signal in [Signal::STOP, Signal::KILL] {
        all.iter().for_each(|pid| send(*pid, signal));
    }
    drop(running);
    wait_for("the lease's end", || {
        let listed = test.run(["ls", "--status", "interrupted", "--json"]);
        listed.stdout.lines().count() == 1
    });
    test.run(["resume", "latest"]).exits(2);
    violates(&test, "scope", &["outside"]);
}
