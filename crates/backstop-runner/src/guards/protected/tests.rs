use std::os::unix::fs::{PermissionsExt, symlink};

use backstop_core::id::RunId;
use backstop_store::Home;

use super::*;

/// A folder with files, and a place outside of it.
struct Test {
    folder: tempfile::TempDir,
    globs: Vec<Glob>,
}

impl Test {
    fn new(globs: &[&str]) -> Self {
        let this = Self {
            folder: tempfile::tempdir().unwrap(),
            globs: globs.iter().map(|glob| Glob::new(glob).unwrap()).collect(),
        };
        this.write("tests/a", "1");
        this.write("tests/deep/b", "1");
        this.write("check.sh", "1");
        this.write("src/c", "1");
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn protected(&self) -> Protected {
        let home = Home::new(self.folder.path().join("state"));
        Protected::new(&self.path(""), home.run(RunId::new(1, 1)))
    }

    fn begin(&self) -> Protected {
        let mut protected = self.protected();
        on_a_runtime(protected.begin(&self.globs, true)).unwrap();
        protected
    }

    fn changed(&self, protected: &mut Protected) -> Vec<String> {
        let changed = on_a_runtime(protected.changed(&self.globs, true)).unwrap();
        changed.into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
    }
}

fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

#[test]
fn only_what_is_protected_counts_and_only_what_it_says() {
    let test = Test::new(&["tests/**", "check.sh"]);
    let mut protected = test.begin();
    assert_eq!(test.changed(&mut protected), Vec::<String>::new());
    test.write("src/c", "2");
    test.write("tests/a", "1");
    assert_eq!(test.changed(&mut protected), Vec::<String>::new());
    test.write("tests/deep/b", "2");
    test.write("tests/new", "1");
    fs::remove_file(test.path("check.sh")).unwrap();
    let all = ["check.sh", "tests/deep/b", "tests/new"];
    assert_eq!(test.changed(&mut protected), all);
    assert_eq!(test.changed(&mut test.protected()), all, "also when it is read from the disk");
}

#[test]
fn an_edit_of_the_same_length_within_the_same_tick_is_seen() {
    let test = Test::new(&["check.sh"]);
    let mut protected = test.begin();
    for round in 0..20 {
        test.write("check.sh", if round % 2 == 0 { "2" } else { "1" });
        let expected = if round % 2 == 0 { vec!["check.sh"] } else { Vec::new() };
        assert_eq!(test.changed(&mut protected), expected, "{round}");
    }
}

#[test]
fn modes_links_and_what_is_no_file_count() {
    let test = Test::new(&["check.sh", "link", "pipe", "tests"]);
    symlink("src/c", test.path("link")).unwrap();
    fs::set_permissions(test.path("check.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    let mut protected = test.begin();
    fs::set_permissions(test.path("check.sh"), PermissionsExt::from_mode(0o711)).unwrap();
    assert_eq!(test.changed(&mut protected), Vec::<String>::new(), "it can still be executed");
    fs::set_permissions(test.path("check.sh"), PermissionsExt::from_mode(0o644)).unwrap();
    test.write("src/c", "2");
    nix::unistd::mkfifo(&test.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(test.changed(&mut protected), ["check.sh", "link", "pipe"]);
}

#[test]
fn links_that_lead_in_circles_and_out_of_the_folder_are_not_followed() {
    let test = Test::new(&["**/b", "outside/**"]);
    symlink("..", test.path("tests/up")).unwrap();
    symlink("/", test.path("src/root")).unwrap();
    let mut protected = test.begin();
    let first = protected.first.clone().unwrap();
    assert_eq!(first.files.keys().collect::<Vec<_>>(), [b"tests/deep/b"]);
    symlink("tests", test.path("outside")).unwrap();
    let found = ["outside", "outside/a", "outside/deep/b", "outside/up"];
    assert_eq!(test.changed(&mut protected), found, "but where they are named");
}

#[test]
fn what_lies_above_can_be_protected() {
    let test = Test::new(&["../judge/**"]);
    let beside = test.folder.path().join("judge");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("x"), "1").unwrap();
    let mut protected = test.begin();
    fs::write(beside.join("x"), "2").unwrap();
    assert_eq!(test.changed(&mut protected), ["../judge/x"]);
}

#[test]
fn other_globs_protect_what_is_there_when_they_come() {
    let mut test = Test::new(&["check.sh"]);
    let mut protected = test.begin();
    test.write("check.sh", "2");
    test.globs = vec![Glob::new("tests").unwrap()];
    assert_eq!(test.changed(&mut protected), Vec::<String>::new());
    test.write("tests/a", "2");
    assert_eq!(test.changed(&mut protected), ["tests/a"]);
    test.globs.push(Glob::new("check.sh").unwrap());
    assert_eq!(test.changed(&mut protected), ["check.sh", "tests/a"]);
}

#[test]
fn a_record_that_is_lost_or_damaged_is_an_error() {
    let test = Test::new(&["check.sh"]);
    let mut protected = test.begin();
    let file = protected.file();
    for damage in [&b""[..], b"[]", b"[\"check.sh\"]\0- 12 check.sh\0", b"[]\0- "] {
        fs::write(&file, damage).unwrap();
        assert!(on_a_runtime(test.protected().changed(&test.globs, false)).is_err());
    }
    fs::remove_file(file).unwrap();
    assert!(on_a_runtime(test.protected().changed(&test.globs, false)).is_err());
    assert!(on_a_runtime(protected.changed(&test.globs, false)).is_ok(), "it knows by itself");
}
