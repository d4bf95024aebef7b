//! The files to deploy the service with: that they say what the program understands.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use backstop_core::document::{Syntax, parse, to_value};
use serde_json::Value as Json;

#[test]
fn every_command_that_serves_is_understood() {
    let compose = compose();
    let in_compose: Vec<String> =
        serde_json::from_value(compose["services"]["service"]["command"].clone()).unwrap();
    let container = text("Containerfile");
    let in_container: Vec<String> =
        serde_json::from_str(line_after(&container, "CMD [").trim_start_matches("CMD ")).unwrap();
    let unit = text("backstop.service");
    let (_, in_unit) = line_after(&unit, "ExecStart=").split_once(' ').unwrap();
    let in_unit: Vec<String> = in_unit.split(' ').map(str::to_owned).collect();
    for words in [in_compose, in_container, in_unit] {
        assert_eq!(words[0], "serve");
        // All of it is read before it is noticed that nobody could ask: there is no token.
        let store = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_backstop"))
            .args(&words)
            .arg("--store")
            .arg(store.path())
            .env("RUST_LOG", "off")
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{words:?}: {message}");
        assert!(message.contains("there is no token yet"), "{words:?}: {message}");
    }
}

#[test]
fn every_variable_is_one_that_the_help_names() {
    let output = Command::new(env!("CARGO_BIN_EXE_backstop")).args(["serve", "--help"]).output();
    let help = String::from_utf8(output.unwrap().stdout).unwrap();
    let mut seen = 0;
    for name in ["backstop.service", "Containerfile", "entrypoint.sh", "compose.yaml"] {
        let text = text(name);
        let is_letter = |letter: char| letter.is_ascii_uppercase() || letter == '_';
        for word in text.split(|letter| !is_letter(letter)) {
            let variable = word.strip_suffix("_FILE").unwrap_or(word);
            // The image's own.
            if !variable.starts_with("BACKSTOP_") || variable == "BACKSTOP_HEALTH_URL" {
                continue;
            }
            assert!(help.contains(variable), "{name}: `{variable}` is not in the help");
            seen += 1;
        }
    }
    assert!(seen >= 8, "only {seen} variables were found");
}

#[test]
fn the_compose_file_gives_what_it_names() {
    let compose = compose();
    let names = |part: &str| compose[part].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (secrets, networks, volumes) = (names("secrets"), names("networks"), names("volumes"));
    for (service, settings) in compose["services"].as_object().unwrap() {
        let listed = |key: &str| {
            let list = settings[key].as_array().cloned().unwrap_or_default();
            list.into_iter().map(|one| one.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for secret in listed("secrets") {
            assert!(secrets.contains(&secret), "{service}: secret {secret}");
        }
        for network in listed("networks") {
            assert!(networks.contains(&network), "{service}: network {network}");
        }
        for volume in listed("volumes") {
            let name = volume.split(':').next().unwrap().to_owned();
            assert!(volumes.contains(&name), "{service}: volume {name}");
        }
        // A secret that is read from a file is one that the service is given.
        for (variable, value) in settings["environment"].as_object().unwrap() {
            if variable.ends_with("_FILE") {
                let file = value.as_str().unwrap().strip_prefix("/run/secrets/").unwrap();
                assert!(listed("secrets").contains(&file.to_owned()), "{service}: {variable}");
            }
        }
    }
}

#[test]
fn whoever_ends_it_waits_until_it_has_answered() {
    let needed = backstop_server::Limits::default().shutdown_time.as_secs();
    let unit = text("backstop.service");
    let seconds = line_after(&unit, "TimeoutStopSec=").trim_start_matches("TimeoutStopSec=");
    assert!(seconds.parse::<u64>().unwrap() > needed);
    let grace = compose()["services"]["service"]["stop_grace_period"].clone();
    let grace = humantime::parse_duration(grace.as_str().unwrap()).unwrap();
    assert!(grace.as_secs() > needed);
}

#[test]
fn the_container_reads_secrets_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "with 'quotes' and $signs\n").unwrap();
    let stand_in = folder.path().join("backstop");
    fs::write(
        &stand_in,
        "#!/bin/sh\nprintf '%s|%s|%s' \"$1\" \"$PGPASSWORD\" \"$PGPASSWORD_FILE\"\n",
    )
    .unwrap();
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
    let entry = |file: &Path| {
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let mut command = Command::new("sh");
        command.arg(place("entrypoint.sh")).arg("serve").env("PATH", path);
        command.env("PGPASSWORD_FILE", file).output().unwrap()
    };
    let output = entry(&secret);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "serve|with 'quotes' and $signs|");
    let output = entry(&folder.path().join("missing"));
    assert_eq!(output.status.code(), Some(66));
    assert!(String::from_utf8_lossy(&output.stderr).contains("PGPASSWORD_FILE names"));
}

fn compose() -> Json {
    let node = parse(text("compose.yaml").as_bytes(), Syntax::Yaml).expect("it is YAML");
    to_value(&node).expect("numbers are finite")
}

fn line_after<'a>(text: &'a str, start: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(start)).expect("the line is there")
}

fn text(name: &str) -> String {
    fs::read_to_string(place(name)).expect("the file is there")
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}
