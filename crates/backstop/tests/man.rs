//! `backstop man`: the manual, from the definitions of the command line.

mod support;

use support::Test;

#[test]
fn the_page_names_every_command() {
    let page = Test::new().run(["man"]).exits(0).stdout;
    assert!(page.contains(".TH backstop 1"), "{page}");
    for command in backstop::command().get_subcommands() {
        assert!(
            page.contains(&format!("backstop\\-{}", command.get_name())),
            "{}",
            command.get_name()
        );
    }
}

#[test]
fn one_page_per_command_is_written() {
    let test = Test::new();
    let ended = test.run(["man", "--out", "share/man1"]).exits(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    for name in ["backstop", "backstop-check", "backstop-policy-explain", "backstop-reasons"] {
        assert!(test.read(&format!("share/man1/{name}.1")).starts_with(".ie"), "{name}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let test = Test::new().file("taken", "");
    test.run(["man", "--out", "taken/man1"]).refused(73, &["can't create `taken/man1`"]);
}
