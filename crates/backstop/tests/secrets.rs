//! Secrets are in nothing that a run leaves behind, through the real binary.

use std::fs;
use std::path::Path;

mod support;

use support::looping::Loop;

const CANARY: &str = "canary-7f3d91aa";
const NAMED: &str = "named-55e0b2c4";

/// Prints secrets in every way: at once, in two writes, on both streams, as an event, as an error.
const LEAKY: &str = r#"
printf 'token is %s\n' "$DEPLOY_TOKEN"
printf 'half %.6s' "$DEPLOY_TOKEN"; sleep 0.2; printf '%s and on\n' "${DEPLOY_TOKEN#??????}"
echo "$VAULT" >&2
echo "employee EMP-424242"
echo "::backstop {\"type\":\"error\",\"category\":\"recoverable\",\"message\":\"refused $DEPLOY_TOKEN\"}"
printf '\033[31m%s\033[0m\n' ghp_0123456789abcdefghijABCDEFGHIJ456789
printf '%s\n' '{"text":"line\nglpat-0123456789abcdefghij"}'
printf '%s\n' '::backstop {"type":"error","category":"recoverable","message":"push failed:\tsk-0123456789abcdefghij"}'
echo "postgres://me:s3cr3t-in-url@db/x"
exit 1
"#;

#[test]
fn nothing_that_is_kept_has_a_secret_in_it() {
    let test = Loop::new()
        .variable("DEPLOY_TOKEN", CANARY)
        .variable("VAULT", NAMED)
        .file(
            "p.toml",
            "[limits]\niterations = 2\n[secrets]\nenv = [\"VAULT\"]\npatterns = [\"EMP-[0-9]{6}\"]\n",
        )
        .script("leaky.sh", LEAKY);
    let ended = test.run(["run", "--policy", "p.toml", "--", "./leaky.sh"]);
    // The person at the terminal sees what the command says.
    assert!(ended.stdout.contains(CANARY), "{}", ended.stdout);
    let logs = test.run(["logs", "latest"]).exits(0).stdout;
    assert!(
        logs.contains("token is [redacted]") && logs.contains("half [redacted] and on"),
        "{logs}"
    );
    let shown = test.run(["show", "latest"]).exits(0).stdout;
    assert!(shown.contains("refused [redacted]") || !shown.contains("refused"), "{shown}");
    test.run(["report", "latest"]).exits(0);
    let behind_escapes =
        ["ghp_0123456789abcdefghij", "glpat-0123456789abcdefghij", "sk-0123456789abcdefghij"];
    for secret in [CANARY, NAMED, "EMP-424242", "s3cr3t-in-url"].into_iter().chain(behind_escapes) {
        let found = with(&test.state_directory(), secret.as_bytes());
        assert!(found.is_empty(), "`{secret}` is in {found:?}");
    }
}

#[test]
fn arguments_and_labels_are_shown_and_told_without_secrets() {
    let test =
        Loop::new().variable("DEPLOY_TOKEN", CANARY).script("deploy.sh", "echo \"$3\" > got");
    let label = format!("ticket={CANARY}");
    let command = ["./deploy.sh", "--api-key", "k3y-of-nobody", CANARY];
    let flags = ["run", "--max-iterations", "1", "--label", &label, "--"];
    test.run([&flags[..], &command[..]].concat()).exits(125);
    assert_eq!(test.read("got").trim(), CANARY, "the command gets what it was given");
    let json = ["run", "--json", "--max-iterations", "1", "--label", &label, "--"];
    let told = test.run([&json[..], &command[..]].concat()).exits(125);
    for told in [&told.stdout, &told.stderr] {
        assert!(!told.contains(CANARY) && !told.contains("k3y-of"), "{told}");
    }
    for looked in [
        &["show", "latest"][..],
        &["show", "latest", "--json"],
        &["show", "latest", "--events"],
        &["ls"],
        &["ls", "--json"],
        &["report", "latest"],
        &["report", "latest", "--format", "json"],
        &["report", "latest", "--format", "html"],
    ] {
        let shown = test.run(looked).exits(0).stdout;
        assert!(!shown.contains(CANARY) && !shown.contains("k3y-of"), "{looked:?}: {shown}");
    }
    // The same words are started again.
    fs::remove_file(test.work().join("got")).expect("it was written");
    test.run(["resume", "--raise", "iterations=2"]).exits(125);
    assert_eq!(test.read("got").trim(), CANARY);
    let why = format!("it printed {CANARY}");
    test.run(["halt", "--all", "--why", &why, "--label", &label]).exits(0);
    let refused = test.run(["run", "--label", &label, "--", "true"]);
    assert!(!refused.stderr.contains(CANARY), "{}", refused.stderr);
}

#[test]
fn a_pattern_that_would_take_everything_is_refused() {
    let test = Loop::new().file("p.toml", "[secrets]\npatterns = [\"a*\"]\n");
    test.run(["policy", "check", "p.toml"]).refused(78, &["patterns", "it matches everything"]);
}

/// The files below a folder that hold these bytes.
fn with(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(with(&path, bytes));
        } else if let Ok(content) = fs::read(&path)
            && content.windows(bytes.len()).any(|window| window == bytes)
        {
            found.push(path.display().to_string());
        }
    }
    found
}
