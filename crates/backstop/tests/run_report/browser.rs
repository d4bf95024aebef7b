//! The page in a real browser: it renders, in light and dark, on a phone and on paper, and has
//! nothing to complain about.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::stopped;

/// Fetches nothing, keeps nothing.
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
];

/// What the page itself never does: it tells how it was rendered, for the test to read.
const TELL: &str = r#"<script>
const style = getComputedStyle(document.body);
const drawn = [...document.querySelectorAll('svg path.line')].map(path => path.getTotalLength());
document.title = JSON.stringify({
  background: style.backgroundColor,
  ink: style.color,
  overflow: document.documentElement.scrollWidth - window.innerWidth,
  width: window.innerWidth,
  charts: document.querySelectorAll('svg').length,
  drawn: drawn.filter(length => length > 0).length,
});
</script></body>"#;

#[test]
fn the_page_renders_in_a_real_browser() {
    let Some(browser) = Browser::find() else {
        println!("left out: there is no Chromium to render reports with");
        return;
    };
    let test = stopped();
    test.run(["report", "--output", "report.html"]).exits(0);
    let page = test.read("report.html");
    let dom = browser.dump(&page, &[]);
    assert!(dom.contains("Iteration limit reached"), "{dom}");
    let with_script = page
        .replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
        .replace("</body>", TELL);
    let told = |flags: &[&str]| {
        let dom = browser.dump(&with_script, flags);
        let (_, rest) = dom.split_once("<title>").expect("a title");
        let (title, _) = rest.split_once("</title>").expect("its end");
        serde_json::from_str::<serde_json::Value>(title)
            .unwrap_or_else(|error| panic!("{error}: {title}"))
    };
    let light = told(&["--blink-settings=preferredColorScheme=1", "--window-size=1200,900"]);
    let dark = told(&["--blink-settings=preferredColorScheme=0", "--window-size=1200,900"]);
    assert_eq!(light["background"], "rgb(247, 247, 245)");
    assert_eq!(dark["background"], "rgb(22, 24, 28)");
    assert_ne!(light["ink"], dark["ink"]);
    assert_eq!(light["charts"], 5, "{light}");
    assert!(light["drawn"].as_u64().is_some_and(|lines| lines >= 5), "{light}");
    let phone = told(&["--window-size=400,800"]);
    for rendered in [&light, &dark, &phone] {
        assert!(rendered["overflow"].as_i64().is_some_and(|beyond| beyond <= 0), "{rendered}");
    }
    browser.prints(&page);
}

/// Chromium, by whatever name it is here.
struct Browser {
    program: &'static str,
    folder: TempDir,
}

impl Browser {
    fn find() -> Option<Self> {
        let runs = |program: &&str| {
            let version = Command::new(program).arg("--version").stdin(Stdio::null()).output();
            version.is_ok_and(|output| output.status.success())
        };
        let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs)?;
        Some(Self { program, folder: TempDir::new().expect("a folder") })
    }

    /// The page as the browser understood it. Complaints are failures.
    fn dump(&self, page: &str, flags: &[&str]) -> String {
        let output = self.open(page, &[&["--dump-dom"], flags].concat());
        assert!(output.contains("</html>"), "{output}");
        output
    }

    fn prints(&self, page: &str) {
        let paper = self.folder.path().join("report.pdf");
        self.open(page, &[&format!("--print-to-pdf={}", paper.display())]);
        assert!(fs::read(paper).expect("a paper").starts_with(b"%PDF"));
    }

    fn open(&self, page: &str, flags: &[&str]) -> String {
        let file = self.folder.path().join("page.html");
        fs::write(&file, page).expect("a page");
        let profile = TempDir::new_in(self.folder.path()).expect("a profile");
        let output = Command::new(self.program)
            .args(FLAGS)
            .args(flags)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(address(&file))
            .env("HOME", self.folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("the browser runs");
        let said = String::from_utf8_lossy(&output.stderr);
        let complaints: Vec<_> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(complaints.is_empty(), "{complaints:?}");
        assert!(output.status.success(), "{said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn address(file: &Path) -> String {
    format!("file://{}", file.display())
}
