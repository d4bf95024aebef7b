//! `policy diff`, `activate` and `history`, through the real binary.

use serde_json::Value as Json;

mod support;

use support::Test;

const STRICT: &str = r#"{"lawbookVersion": "2", "stopRules": {"maxRerunsPerJob": 1}}"#;
const EASY: &str = r#"{"lawbookVersion": "1", "stopRules": {"maxRerunsPerJob": 4}}"#;

#[test]
fn two_policies_are_told_apart_in_words() {
    let test = Test::new().file("strict.json", STRICT).file("easy.json", EASY);
    let told = test.run(["policy", "diff", "easy.json", "strict.json"]).exits(1).stdout;
    assert!(told.contains('4') && told.contains('1'), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    let same = test.run(["policy", "diff", "easy.json", "easy.json"]).exits(0).stdout;
    assert_eq!(same, "they are the same\n");
    let list = test.run(["policy", "diff", "easy.json", "strict.json", "--json"]).exits(1).json();
    assert!(!list.as_array().expect("a list").is_empty());
    test.run(["policy", "diff", "easy.json", "nowhere.json"]).refused(66, &["nowhere.json"]);
    let unknown = format!("sha256:{}", "0".repeat(64));
    test.run(["policy", "diff", "easy.json", &unknown]).refused(66, &[&unknown]);
}

#[test]
fn what_is_in_force_is_remembered_for_ever() {
    let test = Test::new().file("strict.json", STRICT).file("easy.json", EASY);
    let test = test.variable("USER", "ann");
    let said = test.run(["policy", "history"]).exits(0).stderr;
    assert!(said.contains("no policy was ever put in force"), "{said}");
    let hash = test.run(["policy", "hash", "strict.json"]).exits(0).stdout.trim().to_owned();
    let here = "repo:Octo-Org/Hello";
    test.run(["policy", "activate", "easy.json"]).exits(0);
    let put = test.run(["policy", "activate", "strict.json", "--scope", here]).exits(0).stdout;
    assert_eq!(put, format!("in force for repo:octo-org/hello: {hash}\n"));
    test.run(["policy", "activate", "--off", "--scope", here]).exits(0);
    let listed = test.run(["policy", "history", "--json"]).exits(0).stdout;
    let listed: Vec<Json> =
        listed.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let hashes: Vec<_> = listed.iter().map(|one| one["policy_hash"].as_str()).collect();
    assert_eq!(hashes.len(), 3);
    assert_eq!((hashes[0], hashes[1]), (None, Some(hash.as_str())));
    assert_eq!(listed[0]["by"], "ann");
    let only = test.run(["policy", "history", "--scope", "global", "--limit", "5"]).exits(0).stdout;
    assert!(only.lines().count() >= 1 && only.contains("global by ann"), "{only}");
    let stored = test.run(["policy", "diff", &hash, "strict.json"]).exits(0).stdout;
    assert_eq!(stored, "they are the same\n");
    test.run(["policy", "activate"]).refused(64, &["FILE"]);
    test.run(["policy", "activate", "easy.json", "--scope", "here"]).refused(64, &["here"]);
}
