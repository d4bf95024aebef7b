//! pytest within pytest, and pytest after pytest.

use backstop_adapters::report::{Status, TestReport, recognise};

fn read(text: &str) -> TestReport {
    recognise(text.as_bytes(), None).expect("a report")
}

fn told(text: &str) -> (u64, u64, Option<String>) {
    let report = read(text);
    (report.counts().passed, report.counts().failed, report.broken)
}

/// What an inner session may print of itself, from its beginning to its end, if it comes to one.
const INNER: [(&str, &str); 15] = [
    (
        "passed",
        "=== test session starts ===\ncollected 1 item\n\na.py .\n=== 1 passed in 0.01s ===\n",
    ),
    (
        "failed",
        "=== test session starts ===\ncollected 1 item\n\na.py F\n\n=== FAILURES ===\n___ test_y ___\n\
         ---- Captured stdout call ----\nhello\n=== short test summary info ===\n\
         FAILED a.py::test_y - assert 0\n=== 1 failed in 0.01s ===\n",
    ),
    (
        "stopped",
        "=== test session starts ===\ncollected 3 items\n\na.py F\n=== short test summary info ===\n\
         FAILED a.py::test_y - no\n!!! stopping after 1 failures !!!\n=== 1 failed in 0.01s ===\n",
    ),
    (
        "collected",
        "=== test session starts ===\ncollected 2 items\n\n<Module a.py>\n\n\
         === 2 tests collected in 0.00s ===\n",
    ),
    (
        "collected some",
        "=== test session starts ===\ncollected 2 items / 1 deselected / 1 selected\n\n\
         === 1/2 tests collected (1 deselected) in 0.00s ===\n",
    ),
    (
        "collected none",
        "=== test session starts ===\ncollected 2 items / 2 deselected / 0 selected\n\n\
         === no tests collected (2 deselected) in 0.00s ===\n",
    ),
    (
        "collected with an error",
        "=== test session starts ===\ncollected 2 items / 1 error\n\n\
         === 2 tests collected, 1 error in 0.07s ===\n",
    ),
    ("warned", "=== test session starts ===\ncollected 0 items\n\n=== 1 warning in 0.00s ===\n"),
    (
        "nothing",
        "=== test session starts ===\ncollected 0 items\n\n=== no tests ran in 0.00s ===\n",
    ),
    ("quiet", "F   [100%]\n=== FAILURES ===\n___ test_y ___\n1 failed in 0.01s\n"),
    ("killed", "=== test session starts ===\ncollected 1 item\n\n"),
    ("killed early", "=== test session starts ===\nplatform linux -- Python 3.12.1\n"),
    (
        "broke",
        "=== test session starts ===\ncollected 1 item\nINTERNALERROR> Traceback\nINTERNALERROR> KeyError\n",
    ),
    (
        "interrupted",
        "=== test session starts ===\ncollected 1 item\n\n!!! KeyboardInterrupt !!!\na.py:1: KeyboardInterrupt\n",
    ),
    ("misused", "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --nope\n"),
];

/// An outer session that shows what its test has printed: all of it, without its beginning, quiet.
fn around(inner: &str, section: &str, word: &str, figures: &str) -> [String; 3] {
    let shown = format!(
        "=== {section} ===\n___ TestRuns.test_inner ___\n---- Captured stdout call ----\n{inner}\
         ___ TestRuns.test_other ___\n---- Captured stdout call ----\n{inner}\
         === short test summary info ===\n{word} testing/t.py::TestRuns::test_inner\n\
         {word} testing/t.py::TestRuns::test_other\n"
    );
    let head = "=== test session starts ===\ncollected 3 items\n\ntesting/t.py ...   [100%]\n\n";
    [
        format!("{head}{shown}=== {figures} in 0.05s ===\n"),
        format!("{shown}=== {figures} in 0.05s ===\n"),
        format!("...   [100%]\n{shown}{figures} in 0.05s\n"),
    ]
}

#[test]
fn the_outer_session_decides_whatever_has_become_of_the_inner_one() {
    for (what, inner) in INNER {
        for text in around(inner, "PASSES", "PASSED", "3 passed") {
            assert_eq!(told(&text), (3, 0, None), "{what}:\n{text}");
            assert_eq!(
                read(&text).names(Status::Passed).collect::<Vec<_>>(),
                ["testing/t.py::TestRuns::test_inner", "testing/t.py::TestRuns::test_other"],
                "{what}"
            );
        }
        for text in around(inner, "FAILURES", "FAILED", "2 failed, 1 passed") {
            assert_eq!(told(&text), (1, 2, None), "{what}:\n{text}");
        }
    }
}

#[test]
fn a_test_that_prints_while_it_runs_decides_nothing() {
    for (what, inner) in INNER.iter().filter(|(what, _)| *what != "killed early") {
        let text = format!(
            "=== test session starts ===\ncollected 3 items\n\ntesting/t.py ..\n{inner}.\n\n\
             === 3 passed in 1.45s ===\n"
        );
        assert_eq!(told(&text), (3, 0, None), "{what}");
    }
}

#[test]
fn an_outer_session_that_is_cut_off_is_broken() {
    let head = "=== test session starts ===\ncollected 3 items\n\ntesting/t.py ";
    let passed = INNER[0].1;
    for shown in [
        format!("{head}..\n{passed}"),
        format!(
            "{head}...\n=== PASSES ===\n___ test_inner ___\n---- Captured stdout call ----\n{passed}"
        ),
        format!("=== PASSES ===\n___ test_inner ___\n---- Captured stdout call ----\n{passed}"),
        format!("{head}..\n=== test session starts ===\n=== 1 passed in 0.01s ===\n"),
        // A session of its own, behind one that was killed while it showed its results.
        format!("{head}..F\n=== FAILURES ===\n___ test_inner ___\nE   assert 0\n{passed}"),
    ] {
        let report = read(&shown);
        assert!(!report.succeeded(), "{shown}");
        assert_eq!(report.broken.as_deref(), Some("cut off before the summary"), "{shown}");
    }
}

/// What a test prints may look like the last line.
#[test]
fn figures_that_a_session_can_not_have_do_not_end_it() {
    let head = "=== test session starts ===\ncollected 2 items\n\n";
    let shown = "t.py .F   [100%]\n\n=== FAILURES ===\n___ test_b ___\n\
                 ---- Captured stdout call ----\n=== 3 passed in 0.1s ===\n";
    let more = "___ test_c ___\nE   assert 0\n";
    for cut in [
        format!("{head}t.py .\n=== 3 passed in 0.1s ===\n"),
        format!("{head}t.py .\n=== 1 passed in 0.1s ===\n."),
        format!("{head}{shown}"),
        format!("{head}{shown}{more}"),
        // The figures are possible, but what is shown goes on.
        format!("{head}{}{more}", shown.replace("3 passed", "2 passed")),
    ] {
        assert_eq!(told(&cut), (0, 0, Some("cut off before the summary".to_owned())), "{cut}");
    }
    for whole in [
        format!(
            "{head}t.py .\n=== 3 passed in 0.1s ===\nF\n\n=== 1 failed, 1 passed in 0.2s ===\n"
        ),
        format!("{head}{shown}=== 1 failed, 1 passed in 0.2s ===\n"),
    ] {
        assert_eq!(told(&whole), (1, 1, None), "{whole}");
    }
}

/// Plugins leave tests out or call their results otherwise, and parts of tests count beside them.
#[test]
fn figures_may_differ_from_what_was_collected() {
    for (progress, figures) in [
        ("t.py ..", "2 passed, 1 skipped"),
        ("t.py ..   [100%]", "1 passed"),
        ("t.py .E   [100%]", "2 passed, 1 error"),
        ("t.py ..", "1 passed, 1 quarantined"),
    ] {
        let text = format!(
            "=== test session starts ===\ncollected 2 items\n\n{progress}\n\n=== {figures} in 0.1s ===\n"
        );
        assert_eq!(read(&text).broken, None, "{text}");
    }
}

#[test]
fn a_session_that_failed_before_is_not_forgotten() {
    let failed = |figures: &str| {
        format!(
            "=== FAILURES ===\n___ test_a ___\n---- Captured stdout call ----\n{}\
             === short test summary info ===\nFAILED t.py::test_a - no\n{figures}\n",
            INNER[0].1
        )
    };
    let head = "=== test session starts ===\ncollected 1 item\n\nt.py F   [100%]\n\n";
    let first = [
        format!("{head}{}", failed("=== 1 failed in 0.01s ===")),
        format!("F   [100%]\n{}", failed("1 failed in 0.01s")),
        failed("=== 1 failed in 0.01s ==="),
    ];
    let second = [
        "=== test session starts ===\ncollected 1 item\n\nu.py .\n=== 1 passed in 0.01s ===\n",
        ".   [100%]\n1 passed in 0.01s\n",
        ".   [100%]\n=== PASSES ===\n=== short test summary info ===\nPASSED t.py::test_a\n1 passed in 0.01s\n",
        // The end of it alone, as `tail` leaves it.
        "=== short test summary info ===\nPASSED u.py::test_b\n=== 1 passed in 0.01s ===\n",
        "=== short test summary info ===\nPASSED t.py::test_a\n=== 1 passed in 0.01s ===\n",
    ];
    for first in &first {
        for second in second {
            let report = read(&format!("{first}{second}"));
            assert_eq!(
                report.broken.as_deref(),
                Some("1 failed in the pytest run before it"),
                "{first}{second}"
            );
        }
    }
}
