use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn glob(text: &str) -> Glob {
    Glob::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[rstest]
#[case("src/**", "src/a/b.rs", true)]
#[case("src/**", "src", false)]
#[case("src/**", "srcs/a.rs", false)]
#[case("src", "src", true)]
#[case("src", "src/a.rs", true)]
#[case("src", "src2/a.rs", false)]
#[case("src", "lib/src/a.rs", false)]
#[case("src/", "src/a.rs", true)]
#[case("./src", "src/a.rs", true)]
#[case("././src", "src/a.rs", true)]
#[case(".", "src/a.rs", true)]
#[case("./", "src/a.rs", true)]
#[case("**", "a", true)]
#[case("**", ".hidden/a", true)]
#[case("**/*.pem", "key.pem", true)]
#[case("**/*.pem", "a/b/key.pem", true)]
#[case("**/*.pem", "a/b/key.pem/x", false)]
#[case("**/tests/**", "tests/a", true)]
#[case("**/tests/**", "a/tests/b/c", true)]
#[case("**/tests/**", "a/mytests/b", false)]
#[case("**/tests", "a/tests/b/c", true)]
#[case("a/**/b", "a/b", true)]
#[case("a/**/b", "a/x/y/b", true)]
#[case("a/**/b", "a/xb", false)]
#[case("a/***/b", "a/x/b", true)]
#[case("a**b", "a/x/b", true)]
#[case("*.pem", "a/key.pem", false)]
#[case("*.pem", "key.pem", true)]
#[case("*", ".env", true)]
#[case("src/*", "src/a.rs", true)]
#[case("src/*", "src/a/b.rs", false)]
#[case("src/*/", "src/a/b.rs", true)]
#[case("src/*/", "src/a", false)]
#[case("a?c", "a/c", false)]
#[case("a?c", "aéc", true)]
#[case("a??c", "aéc", false)]
#[case("a[0-9].txt", "a7.txt", true)]
#[case("a[!0-9].txt", "a7.txt", false)]
#[case("a[^0-9].txt", "ax.txt", true)]
#[case("a[!0-9]b", "a/b", false)]
#[case("a[+-0]b", "a/b", false)]
#[case("a[]x]", "a]", true)]
#[case("a[x-]", "a-", true)]
#[case("a[\\]]", "a]", true)]
#[case("a[é-ü]", "aö", true)]
#[case("{tests,check.sh}", "tests/x.rs", true)]
#[case("{tests,check.sh}", "check.sh", true)]
#[case("{tests,check.sh}", "check", false)]
#[case("{src/*,docs}", "docs/a/b", true)]
#[case("{src/*,docs}", "src/a/b", false)]
#[case("a{b*,c}d", "abxxd", true)]
#[case("a{b*,c}d", "acxxd", false)]
#[case("a{b,c{d,e}}", "ace", true)]
#[case("a{,b}", "a", true)]
#[case("{**/,}x", "a/b/x", true)]
#[case("**/*.{js,ts}", "web/a.ts", true)]
#[case("a.b", "axb", false)]
#[case("A", "a", false)]
#[case("a,b", "a,b", true)]
#[case("\\*", "*", true)]
#[case("\\*", "a", false)]
#[case("\\{a\\}", "{a}", true)]
#[case("a\nb", "a\nb", true)]
#[case("*", "a\nb", true)]
#[case("../x", "../x/y", true)]
#[case("..", "../x", true)]
#[case("..", "x", false)]
#[case("../..", "../../x", true)]
#[case("../..", "../x", false)]
fn what_is_named(#[case] text: &str, #[case] path: &str, #[case] expected: bool) {
    assert_eq!(glob(text).is_match(path.as_bytes()), expected);
}

#[rstest]
#[case("a?", b"a\xff", true)]
#[case("a??", b"a\xff\xfe", true)]
#[case("*.rs", b"\xff\xff.rs", true)]
#[case("[a-z]", b"\xe9", false)]
#[case("[!a-z]", b"\xe9", true)]
fn names_that_are_no_text(#[case] text: &str, #[case] path: &[u8], #[case] expected: bool) {
    assert_eq!(glob(text).is_match(path), expected);
}

#[rstest]
#[case("", "names nothing")]
#[case("/etc/*", "leave the first `/` out")]
#[case("a//b", "`//`")]
#[case("a/../b", "at the beginning")]
#[case("a/./b", "at the beginning")]
#[case("a/..", "at the beginning")]
#[case("[", "`[` is not closed")]
#[case("[]", "`[` is not closed")]
#[case("[a", "`[` is not closed")]
#[case("[z-a]", "the wrong way round")]
#[case("[/]", "no character")]
#[case("{a", "`{` is not closed")]
#[case("{a,{b}", "`{` is not closed")]
#[case("a}", "`}` closes nothing")]
#[case("a\\", "nothing follows")]
fn what_is_no_glob(#[case] text: &str, #[case] why: &str) {
    let message = Glob::new(text).unwrap_err().to_string();
    assert!(message.contains(why), "{message}");
}

#[test]
fn what_is_too_much_is_refused_in_good_time() {
    assert!(Glob::new(&"a".repeat(1001)).is_err());
    assert!(Glob::new(&"{".repeat(500)).is_err());
    let many = format!("{}a", "{*,**/}".repeat(140));
    if let Ok(many) = Glob::new(&many) {
        assert!(many.overlaps(&many));
    }
    // What takes a backtracking reader for ever.
    assert!(!glob(&"*a".repeat(400)).is_match("b".repeat(3000).as_bytes()));
    assert!(!glob(&format!("{}c", "*a".repeat(40))).is_match("a".repeat(3000).as_bytes()));
}

#[rstest]
#[case("src/**", "src/**", true)]
#[case("src/**", "docs/**", false)]
#[case("src/**", "src/core/**", true)]
#[case("src", "src/core/a.rs", true)]
#[case("src", "src2", false)]
#[case("src/*", "src/core/*", false)]
#[case("src/*.rs", "src/a*", true)]
#[case("src/*.rs", "src/*.md", false)]
#[case("**", "a", true)]
#[case("**/*.rs", "docs/**", true)]
#[case("**/*.rs", "docs/*.md", false)]
#[case("a/**/z", "a/b/**", true)]
#[case("a/**/z", "b/**/z", false)]
#[case("[a-c]*", "[d-f]*", false)]
#[case("[a-c]*", "[c-f]*", true)]
#[case("[!a]", "a", false)]
#[case("{a,b}/x", "{b,c}/x", true)]
#[case("{a,b}/x", "{c,d}/x", false)]
#[case("a?", "ab", true)]
#[case("a?", "a", false)]
#[case("crates/parser/**", "crates/*/src/**", true)]
#[case("*/a", "b/*", true)]
#[case("../x/**", "x/**", false)]
fn whether_two_can_name_the_same(#[case] one: &str, #[case] two: &str, #[case] expected: bool) {
    assert_eq!(glob(one).overlaps(&glob(two)), expected);
    assert_eq!(glob(two).overlaps(&glob(one)), expected);
}

#[rstest]
#[case("src/**", &["web"], "web/src/a", true)]
#[case("src/**", &["web"], "src/a", false)]
#[case("../docs", &["web"], "docs/a", true)]
#[case("../docs", &["web", "app"], "web/docs/a", true)]
#[case("..", &["web"], "README.md", true)]
#[case(".", &["web"], "web/a", true)]
#[case("./src", &["a*"], "a*/src/x", true)]
#[case("./src", &["a*"], "ab/src/x", false)]
fn a_glob_as_seen_from_above(
    #[case] text: &str,
    #[case] folders: &[&str],
    #[case] path: &str,
    #[case] expected: bool,
) {
    let folders: Vec<&[u8]> = folders.iter().map(|folder| folder.as_bytes()).collect();
    let above = glob(text).seen_from_above(&folders).unwrap();
    assert_eq!(above.is_match(path.as_bytes()), expected);
}

#[test]
fn what_leads_out_of_everything_names_nothing_there() {
    assert!(glob("../../x").seen_from_above(&[b"web"]).is_none());
}

#[test]
fn a_walk_knows_where_nothing_more_can_be_found() {
    let glob = glob("src/*/tests/**");
    let inside = glob.reach(&glob.start(), b"src/");
    assert!(!inside.is_nowhere());
    assert!(glob.accepts(&glob.reach(&inside, b"core/tests/a.rs")));
    assert!(glob.reach(&inside, b"core/docs/").is_nowhere());
    assert!(glob.reach(&glob.start(), b"docs/").is_nowhere());
}

/// Few characters, so that globs and paths meet.
const GLOBS: &str = r"(\*\*/|\*\*|\*|\?|a|b|/|\[ab\]|\[!a\]|\{a,b\}|\{a/,\*b\}){1,7}";

proptest! {
    #[test]
    fn no_text_is_too_much(text in any::<String>(), path in any::<Vec<u8>>()) {
        if let Ok(glob) = Glob::new(&text) {
            glob.is_match(&path);
        }
    }

    #[test]
    fn two_that_name_the_same_path_overlap(
        one in GLOBS,
        two in GLOBS,
        path in "[ab]{1,2}(/[ab]{1,2}){0,3}",
    ) {
        if let (Ok(one), Ok(two)) = (Glob::new(&one), Glob::new(&two)) {
            let path = path.as_bytes();
            if one.is_match(path) && two.is_match(path) {
                prop_assert!(one.overlaps(&two));
            }
            prop_assert_eq!(one.overlaps(&two), two.overlaps(&one));
        }
    }

    #[test]
    fn a_path_is_read_alike_in_pieces(text in GLOBS, path in "[ab/]{0,9}", cut in 0_usize..10) {
        if let Ok(glob) = Glob::new(&text) {
            let (head, tail) = path.split_at(cut.min(path.len()));
            let reached = glob.reach(&glob.reach(&glob.start(), head.as_bytes()), tail.as_bytes());
            prop_assert_eq!(glob.accepts(&reached), glob.is_match(path.as_bytes()));
        }
    }
}
