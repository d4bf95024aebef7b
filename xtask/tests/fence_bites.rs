//! The core's clippy.toml, put around a small crate that breaks every ban, must fail its build.

use std::path::Path;
use std::process::Command;

#[test]
fn clippy_refuses_each_family_of_calls_by_name() {
    if !clippy_is_installed() {
        let on_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!on_ci, "clippy must be installed on CI");
        println!("left out: clippy is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_crate(folder.path()).unwrap();
    let output = Command::new("cargo")
        .args(["clippy", "--offline", "--quiet", "--", "-Dwarnings"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env_remove("CLIPPY_CONF_DIR")
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "clippy let everything pass");
    for (path, _) in BROKEN {
        let method = format!("use of a disallowed method `{path}`");
        let kind = format!("use of a disallowed type `{path}`");
        assert!(report.contains(&method) || report.contains(&kind), "{path}:\n{report}");
    }
}

fn clippy_is_installed() -> bool {
    let version = Command::new("cargo").args(["clippy", "--version"]).output();
    version.is_ok_and(|output| output.status.success())
}

fn write_crate(folder: &Path) -> std::io::Result<()> {
    let fence = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/backstop-core/clippy.toml");
    // The small crate has no dependencies, and clippy complains about paths that lead nowhere.
    let fence: String = std::fs::read_to_string(fence)?
        .lines()
        .filter(|line| !line.contains("\"jiff::"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let functions: String = BROKEN
        .iter()
        .enumerate()
        .map(|(number, (_, body))| format!("pub fn broken_{number}() {{ {body}; }}\n"))
        .collect();
    let manifest = "[package]\nname = \"fenced\"\nedition = \"2024\"\n\n[workspace]\n";
    std::fs::create_dir(folder.join("src"))?;
    std::fs::write(folder.join("clippy.toml"), fence)?;
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/lib.rs"), functions)
}

/// What clippy must name, and a statement that does it.
const BROKEN: &[(&str, &str)] = &[
    ("std::time::SystemTime::now", "let _ = std::time::SystemTime::now()"),
    ("std::time::Instant::now", "let _ = std::time::Instant::now()"),
    ("std::env::var", "let _ = std::env::var(\"HOME\")"),
    ("std::env::args", "let _ = std::env::args()"),
    ("std::fs::read", "let _ = std::fs::read(\"a\")"),
    ("std::fs::write", "let _ = std::fs::write(\"a\", \"b\")"),
    ("std::fs::File", "let _ = std::fs::File::open(\"a\")"),
    ("std::path::Path::exists", "let _ = std::path::Path::new(\"a\").exists()"),
    ("std::process::exit", "std::process::exit(1)"),
    ("std::process::Command", "let _ = std::process::Command::new(\"a\")"),
    ("std::thread::spawn", "drop(std::thread::spawn(|| {}))"),
    ("std::thread::sleep", "std::thread::sleep(std::time::Duration::ZERO)"),
    ("std::net::TcpStream", "let _ = std::net::TcpStream::connect(\"localhost:1\")"),
    ("std::net::UdpSocket", "let _ = std::net::UdpSocket::bind(\"localhost:1\")"),
];
