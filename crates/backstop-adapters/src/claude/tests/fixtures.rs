//! Real captures, where they are at hand. The figures were worked out from the raw files.

use std::fmt::Write as _;

use super::told;
use crate::{FaultKind, Outcome};

/// File; tokens in, out, read from and written to the cache; cost in millionths of a dollar;
/// launches; calls of tools; how the launches ended; what failed.
const EXPECTED: &str = "\
claude-loops/relaunch-loop-a-iter-1-3.jsonl                     489   1276  4264099  206002  12214918   3   97  3×succeeded                                  -
claude-loops/relaunch-loop-a-redo-iter-144-147.jsonl            790   2025  6179302  174570  17737330   4  158  4×succeeded                                  -
claude-loops/relaunch-loop-a-usage-limit-burst.jsonl            191    327  3144503   72602   7429366  94   77  1×succeeded,93×failed                        93×rate-limited
claude-loops/relaunch-loop-b-credit-exhausted.jsonl             374   5550  1884775  112541   1290124  19   47  18×failed,1×cut-off                          18×credits
claude-loops/relaunch-loop-c-already-done.jsonl               38883  30660  2699196  248608   1621133   7  167  1×cut-off,3×succeeded,2×cut-off,1×succeeded  -
claude-stream/action-execution-file-array.json                  630    265      315       0     34700   1    3  1×succeeded                                  -
claude-stream/api-error-credit-balance.json                       0      0        0       0         -   1    0  1×failed                                     1×credits
claude-stream/ci-log-debug-lines-then-array.txt                 134    876   120119   34686    178926   1    3  1×succeeded                                  -
claude-stream/error-max-turns-1.jsonl                         10552  12944  1660076   98609   1088515   1   52  1×failed                                     1×turn-limit
claude-stream/hand-written-session.jsonl                        170     88        0       0     13345   2    2  1×succeeded,1×failed                         1×other
claude-stream/is-error-true-subtype-success-max-output.jsonl  19274  79205  1179875   64325   2978276   1   50  1×failed                                     1×output-limit
claude-stream/json-result-1.json                               1384   6160   414090   23988    103578   1    0  1×succeeded                                  -
claude-stream/json-result-2.json                               1372   6861   589610   30001    132139   1    0  1×succeeded                                  -
claude-stream/json-result-3.json                                940   5741   600268   28395    620820   1    0  1×succeeded                                  -
claude-stream/json-result-4.json                                933   3176   292832   25321    383729   1    0  1×succeeded                                  -
claude-stream/sonnet-2-1-read-file.jsonl                        455    137    37731    3744     27727   1    1  1×succeeded                                  -
claude-stream/task-tool-subagents.jsonl                         396   4795   191182   45206     99997   1   36  1×succeeded                                  -
claude-stream/truncated-no-result.jsonl                          65  31756  2813828   57370         -   1   64  1×cut-off                                    -
claude-transcripts/coverage-test-fix.jsonl                        9    158   286596    7610         -   1   13  1×cut-off                                    -
claude-transcripts/edge-cases.jsonl                             488    435        0       0         -   1    3  1×cut-off                                    -
claude-transcripts/sample-session.json                            0      0        0       0         -   1   12  1×cut-off                                    -
claude-transcripts/schema-coverage-2026-08.jsonl                 10      5        0       0         -   1    3  1×cut-off                                    1×other
claude-transcripts/session-2025-a.jsonl                          45    107   307871   63095         -   1   10  1×cut-off                                    -
claude-transcripts/session-2025-ask-user.jsonl                   11     16    49327   33531         -   1    3  1×cut-off                                    -
claude-transcripts/short.jsonl                                    3     13    11515   13835         -   1    2  1×cut-off                                    -
claude-transcripts/stop-hook-reflection-first-stop.jsonl          3     55   109646    4169         -   1    4  1×cut-off                                    -
claude-transcripts/subagent.jsonl                              1576   1586   427286   25842         -   1   16  1×cut-off                                    -
claude-transcripts/subagents/agent-aac57f5.jsonl               2408      7    29274   18814         -   1   12  1×cut-off                                    -
claude-transcripts/subagents/agent-acompact-946d2b.jsonl          3      8    17842  121689         -   1    0  1×cut-off                                    -
claude-transcripts/tool-heavy.jsonl                              54    212    88231   17696         -   1    6  1×cut-off                                    -
other-agents/amp-stream-success-hand.jsonl                      150     30        0       0         -   1    1  1×succeeded                                  -
";

#[test]
#[expect(clippy::disallowed_methods, reason = "captures are files, and only tests read them")]
fn captures() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");
    if std::fs::metadata(root).is_err() {
        println!("skipped: no captures at {root}");
        return;
    }
    let mut table = String::new();
    for file in EXPECTED.lines().filter_map(|row| row.split_whitespace().next()) {
        let told = told(&std::fs::read(format!("{root}/{file}")).unwrap(), None);
        assert_eq!(told.of_kind("empty"), 0, "{file}");
        let [input, output, read, written] = told.tokens();
        let cost = told.cost().map_or("-".to_owned(), |cost| format!("{:.0}", cost * 1e6));
        let last = (told.ends.len() < told.launches).then_some(told.outcome).flatten();
        let ends = counted(told.ends.iter().chain(&last).map(|end| match end {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::CutOff => "cut-off",
        }));
        let faults = counted(told.faults.iter().map(|(kind, ..)| name(*kind)));
        let (launches, calls) = (told.launches, told.of_kind("action"));
        writeln!(
            table,
            "{file} {input} {output} {read} {written} {cost} {launches} {calls} {ends} {faults}"
        )
        .unwrap();
    }
    let aligned: String = EXPECTED
        .lines()
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
        .collect();
    assert_eq!(table, aligned);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "captures are files, and only tests read them")]
fn every_capture_is_in_the_table() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");
    let folders = ["claude-loops", "claude-stream", "claude-transcripts"];
    let mut folders: Vec<String> = folders.map(|folder| format!("{root}/{folder}")).into();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("skipped: no captures at {folder}");
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path().to_string_lossy().into_owned();
            let name = path.strip_prefix(root).unwrap().trim_start_matches('/');
            if std::fs::metadata(&path).unwrap().is_dir() {
                folders.push(path);
            } else {
                assert!(EXPECTED.lines().any(|row| row.starts_with(&format!("{name} "))), "{name}");
            }
        }
    }
}

/// Of all that were denied something, only the one that was denied its only call got nowhere.
#[test]
#[expect(clippy::disallowed_methods, reason = "captures are files, and only tests read them")]
fn captures_that_need_a_person() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");
    let files = EXPECTED.lines().filter_map(|row| row.split_whitespace().next());
    let blocked: Vec<&str> = files
        .filter(|file| {
            let capture = std::fs::read(format!("{root}/{file}")).unwrap_or_default();
            !told(&capture, None).blocked.is_empty()
        })
        .collect();
    let expected = ["claude-stream/hand-written-session.jsonl"];
    assert!(blocked == expected || std::fs::metadata(root).is_err(), "{blocked:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "captures are files, and only tests read them")]
fn a_capture_with_sub_agents() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");
    let Ok(capture) = std::fs::read(format!("{root}/claude-stream/task-tool-subagents.jsonl"))
    else {
        println!("skipped: no captures at {root}");
        return;
    };
    let twice = told(&[&capture[..], &capture[..]].concat(), None);
    assert_eq!(twice.tokens(), [792, 9590, 382_364, 90_412]);
    assert_eq!(twice.cost().map(|cost| format!("{cost:.7}")), Some("0.1999934".to_owned()));
    let older = String::from_utf8(capture).unwrap().replace("\"modelUsage\"", "\"other\"");
    assert_eq!(told(older.as_bytes(), None).tokens(), [42, 161 + 2658, 159_480, 41_768]);
}

fn counted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut runs: Vec<(usize, &str)> = Vec::new();
    for name in names {
        match runs.last_mut() {
            Some((count, last)) if *last == name => *count += 1,
            _ => runs.push((1, name)),
        }
    }
    let runs: Vec<String> = runs.iter().map(|(count, name)| format!("{count}×{name}")).collect();
    if runs.is_empty() { "-".to_owned() } else { runs.join(",") }
}

fn name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::RateLimited => "rate-limited",
        FaultKind::Credits => "credits",
        FaultKind::TurnLimit => "turn-limit",
        FaultKind::OutputLimit => "output-limit",
        _ => "other",
    }
}
