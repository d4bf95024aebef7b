//! Whatever a run tells: nothing panics, nothing grows, nothing of it is taken for markup.

use std::time::Duration;

use backstop_core::engine::Engine;
use backstop_core::event::{
    Action, Asked, ErrorCategory, ErrorSeen, Event, EventKind, Guard, GuardKind, IterationFinished,
    IterationStarted, Note, Noted, Progress, ProgressKind, Tests, Unit, UnitStatus, Usage,
};
use backstop_core::id::RunId;
use backstop_core::policy::Policy;
use backstop_core::state::RunStatus;
use backstop_core::testing;
use backstop_core::time::Timestamp;
use backstop_report::{About, Ending, Report, ReportBuilder};
use proptest::prelude::*;
use quick_xml::events::Event as Xml;

proptest! {
    #[test]
    fn any_run_can_be_told(run in testing::run(60), text in any::<String>(), halted in any::<bool>()) {
        let mut builder = builder(run.policy, &text);
        for happening in run.happenings {
            let mut event = happening.event;
            event.at = event.at.or(Some(happening.now));
            builder.take(event);
        }
        check(&finish(builder, if halted { RunStatus::Stopped } else { RunStatus::Running }));
    }

    #[test]
    fn text_of_others_is_never_markup(texts in prop::collection::vec(hostile(), 1..4)) {
        let mut builder = builder(Policy::preset(backstop_core::policy::Preset::Default), &texts[0]);
        for text in &texts {
            for (second, kind) in saying(text).into_iter().enumerate() {
                let at = Timestamp::default().plus(Duration::from_secs(second as u64));
                builder.take(Event::new(kind).at(at));
            }
        }
        check(&finish(builder, RunStatus::Running));
    }
}

#[test]
fn a_report_does_not_grow_with_its_run() {
    let told = |events: u64| {
        let mut builder =
            builder(Policy::preset(backstop_core::policy::Preset::Default), "./agent.sh");
        for number in 0..events {
            let at = Timestamp::default().plus(Duration::from_secs(number));
            let kinds = saying(&format!("message {number}"));
            let place = usize::try_from(number).unwrap() % kinds.len();
            let kind = kinds.into_iter().nth(place).unwrap();
            builder.take(Event::new(kind).at(at).active_ms(number * 1_000));
        }
        finish(builder, RunStatus::Running)
    };
    let (long, longer) = (told(20_000), told(100_000));
    assert!(longer.series.points.len() <= 512);
    assert!(longer.timeline.left_out > long.timeline.left_out);
    assert!(longer.to_html().len() < long.to_html().len() * 2);
    assert!(longer.to_html().len() < 400_000, "{}", longer.to_html().len());
    assert_eq!(longer.figures.events, 100_000);
}

/// One event of each kind that carries words.
fn saying(text: &str) -> Vec<EventKind> {
    let words = || text.to_owned();
    vec![
        IterationStarted::default().into(),
        Action { signature: words(), ..Action::default() }.into(),
        ErrorSeen {
            category: ErrorCategory::Recoverable,
            message: words(),
            signature: None,
            retry_at: None,
        }
        .into(),
        Progress { kind: ProgressKind::Commit, note: Some(words()) }.into(),
        Unit { id: words(), index: None, status: UnitStatus::Rejected, attempts: Some(2) }.into(),
        Tests { passed: vec![words()], failed: vec![words()], ..Tests::default() }.into(),
        Guard { kind: GuardKind::Scope, files: vec![words()] }.into(),
        Asked { question: words(), unheard: false }.into(),
        Noted { what: Note::Kept, detail: words() }.into(),
        Usage { input_tokens: 10, model: Some(words()), ..Usage::default() }.into(),
        IterationFinished { exit_code: Some(1), ..IterationFinished::default() }.into(),
    ]
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "<",
        ">",
        "&",
        "\"",
        "'",
        "`",
        "</style>",
        "<script>",
        "]]>",
        "<!--",
        "-->",
        "\u{0}",
        "\u{1b}[2J",
        "\u{202e}",
        "\n",
        "\r\n",
        "\u{ffff}",
        "&lt;",
        "|",
        "\\",
        "大",
        "# x",
        "- y",
        " ",
    ]);
    prop::collection::vec(prop_oneof![pieces.prop_map(str::to_owned), any::<String>()], 0..8)
        .prop_map(|pieces| pieces.concat())
}

fn builder(policy: Policy, text: &str) -> ReportBuilder {
    let about = About {
        run: RunId::new(1, 1),
        command: vec![text.to_owned(), "two words".to_owned()],
        cwd: text.to_owned(),
        labels: [(text.to_owned(), text.to_owned())].into(),
        created_at: Timestamp::default(),
        supervised: true,
        once: false,
        stdin: Some(text.to_owned()),
        policy_name: text.to_owned(),
    };
    ReportBuilder::new(about, Engine::new(policy))
}

fn finish(builder: ReportBuilder, status: RunStatus) -> Report {
    let now = Timestamp::default();
    builder.finish(&Ending { status, state: None, interrupted: false, pruned: false, now })
}

/// Every form of the report can be read by whoever it is for.
#[track_caller]
fn check(report: &Report) {
    serde_json::from_str::<serde_json::Value>(&report.to_json()).expect("JSON");
    let markdown = report.to_markdown();
    assert!(!markdown.contains(|letter: char| letter.is_control() && letter != '\n'), "{markdown}");
    let page = report.to_html();
    let mut reader = quick_xml::Reader::from_str(&page);
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}: {page}")) {
            Xml::Start(tag) | Xml::Empty(tag) => {
                let name = tag.name().as_ref().to_owned();
                assert!(TAGS.contains(&&*name), "<{name}>");
                for attribute in tag.attributes() {
                    let key = attribute.expect("an attribute").key;
                    assert!(!key.as_ref().starts_with("on"), "{page}");
                }
            }
            Xml::Comment(_) | Xml::CData(_) | Xml::PI(_) => panic!("{page}"),
            Xml::Eof => break,
            _ => {}
        }
    }
}

/// All that a page is made of.
const TAGS: &[&str] = &[
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "header",
    "footer",
    "section",
    "div",
    "p",
    "span",
    "h1",
    "h2",
    "small",
    "b",
    "i",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "br",
    "time",
    "figure",
    "figcaption",
    "svg",
    "desc",
    "path",
    "details",
    "summary",
];
