//! Policies that come over the network are data: they name nothing to run, nobody to tell, and no
//! file outside of a run's directory.

use std::path::{Component, Path};

use axum::http::StatusCode;
use backstop_core::condition::Condition;
use backstop_core::policy::{Policy, Settings};

use crate::problem::Problem;

/// Refuses a policy that is more than data, and names every place that makes it so.
pub fn check(policy: &Policy) -> Result<(), Problem> {
    let places = places(policy);
    if places.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "a policy that comes over the network can't name programs, webhooks or files outside of \
         the run's directory, nor keep everybody busy: {}",
        places.join("; ")
    );
    Err(Problem::new(StatusCode::FORBIDDEN, "NOT_DATA_ONLY", detail)
        .about("policy")
        .listing(places))
}

/// Everything about a policy that is more than data.
fn places(policy: &Policy) -> Vec<String> {
    let mut places = Vec::new();
    for (index, rule) in policy.all_rules().enumerate() {
        let place = format!("rule {index} (`{}`)", rule.name());
        in_condition(&rule.when, &place, &mut places);
    }
    in_settings(&policy.settings, &mut places);
    let expressions = expressions(policy);
    if expressions > MOST_EXPRESSIONS {
        places.push(format!("it has {expressions} expressions, more than {MOST_EXPRESSIONS}"));
    }
    places
}

/// How many expressions a policy has. Each may take a while, and whoever sends it does not wait for
/// them alone.
pub(crate) fn expressions(policy: &Policy) -> usize {
    fn count(condition: &Condition) -> usize {
        match condition {
            Condition::Expr(_) => 1,
            other => other.parts().iter().map(count).sum(),
        }
    }
    policy.all_rules().map(|rule| count(&rule.when)).sum()
}

fn in_condition(condition: &Condition, place: &str, places: &mut Vec<String>) {
    let mut file = |path: &str, outside: bool| {
        if outside || leads_out(path) {
            places.push(format!("{place} looks at `{path}`"));
        }
    };
    match condition {
        Condition::FileCreated(created) => file(&created.path.0, created.outside),
        Condition::FileContains(contains) => file(&contains.path.0, contains.outside),
        Condition::CustomScript(script) => {
            places.push(format!("{place} runs `{}`", script.script.0));
        }
        other => other.parts().iter().for_each(|part| in_condition(part, place, places)),
    }
}

fn in_settings(settings: &Settings, places: &mut Vec<String>) {
    if let Some(verify) = &settings.verify {
        if verify.command.is_some() {
            places.push("[verify] command runs a program".to_owned());
        }
        if verify.tiers.as_ref().is_some_and(|tiers| !tiers.is_empty()) {
            places.push("[verify] tiers run programs".to_owned());
        }
        let report = verify.report.as_ref().and_then(|report| report.0.split_once(':'));
        file("[verify] report", report.map(|(_, path)| path), places);
    }
    if let Some(review) = &settings.review {
        if review.command.is_some() {
            places.push("[review] command runs a program".to_owned());
        }
        file("[review] file", review.file.as_ref().map(|path| path.0.as_str()), places);
    }
    if settings.drift.as_ref().is_some_and(|drift| drift.command.is_some()) {
        places.push("[drift] command runs a program".to_owned());
    }
    if let Some(notify) = &settings.notify {
        if notify.command.is_some() {
            places.push("[notify] command runs a program".to_owned());
        }
        if notify.webhook.is_some() {
            places.push("[notify] webhook posts to another machine".to_owned());
        }
        if notify.secret_env.is_some() {
            places.push("[notify] secret_env reads the environment".to_owned());
        }
    }
    let stdin = settings.loop_.as_ref().and_then(|looped| looped.stdin.as_ref());
    file("[loop] stdin", stdin.map(|path| path.0.as_str()), places);
    let work = settings.work.as_ref().and_then(|work| work.requirements.as_ref());
    file("[work] requirements", work.map(|path| path.0.as_str()), places);
    let tasks = settings.progress.as_ref().and_then(|progress| progress.tasks.as_ref());
    for path in tasks.iter().flat_map(|tasks| &tasks.0) {
        file("[progress] tasks", Some(&path.0), places);
    }
}

fn file(place: &str, path: Option<&str>, places: &mut Vec<String>) {
    if let Some(path) = path.filter(|path| leads_out(path)) {
        places.push(format!("{place} reads `{path}`"));
    }
}

/// Whether a path leads out of the directory that it starts in, or may.
fn leads_out(path: &str) -> bool {
    path.starts_with('~')
        || Path::new(path)
            .components()
            .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

const MOST_EXPRESSIONS: usize = 32;

#[cfg(test)]
mod tests {
    use backstop_core::document::Syntax;
    use rstest::rstest;

    use super::*;

    fn places_of(toml: &str) -> Vec<String> {
        let loaded = Policy::load(toml.as_bytes(), Syntax::Toml);
        places(&loaded.unwrap_or_else(|findings| panic!("{toml}: {findings:?}")).policy)
    }

    #[rstest]
    #[case("[[rule]]\nwhen = { type = \"custom_script\", script = \"./x.sh\" }\nthen = \"stop\"")]
    #[case(
        "[[rule]]\nwhen = { type = \"not\", condition = { type = \"any\", conditions = \
         [{ type = \"custom_script\", script = \"x\" }] } }\nthen = \"warn\""
    )]
    #[case(
        "[[rule]]\nwhen = { type = \"file_created\", path = \"/etc/passwd\", outside = true }\n\
         then = \"stop\""
    )]
    #[case(
        "[[rule]]\nwhen = { type = \"file_contains\", path = \"a\", content = \"b\", \
         outside = true }\nthen = \"stop\""
    )]
    #[case("[verify]\ncommand = \"make\"")]
    #[case("[verify]\ntiers = [{ command = \"make\" }]")]
    #[case("[review]\ncommand = \"./review.sh\"")]
    #[case("[drift]\ncommand = \"./score.sh\"")]
    #[case("[notify]\ncommand = [\"notify-send\"]")]
    #[case("[notify]\nwebhook = \"https://example.org/x\"")]
    #[case("[loop]\nstdin = \"/etc/passwd\"")]
    #[case("[loop]\nstdin = \"~/.ssh/id\"")]
    #[case("[work]\nrequirements = \"../SPEC.md\"")]
    #[case("[progress]\ntasks = [\"PLAN.md\", \"a/../../x\"]")]
    fn what_is_more_than_data_is_found(#[case] toml: &str) {
        assert_eq!(places_of(toml).len(), 1, "{toml}: {:?}", places_of(toml));
    }

    #[rstest]
    #[case("preset = \"ralph\"")]
    #[case("preset = \"moderator\"")]
    #[case(
        "[[rule]]\nwhen = { type = \"file_created\", path = \"out/DONE\" }\nthen = \"complete\""
    )]
    #[case("[progress]\ntasks = \"./PLAN.md\"\n[work]\nrequirements = \"docs/SPEC.md\"")]
    #[case("[verify]\ntimeout = \"5m\"\ncommand = \"x\"")]
    fn data_passes(#[case] toml: &str) {
        let expected = usize::from(toml.contains("command"));
        assert_eq!(places_of(toml).len(), expected, "{:?}", places_of(toml));
    }

    #[test]
    fn every_place_is_named_at_once() {
        let policy = Policy::load(
            b"[verify]\ncommand = \"make\"\n[notify]\ncommand = [\"x\"]\n[[rule]]\n\
              when = { type = \"custom_script\", script = \"./x.sh\" }\nthen = \"stop\"\n",
            Syntax::Toml,
        );
        let problem = check(&policy.unwrap().policy).unwrap_err();
        assert_eq!(problem.status(), StatusCode::FORBIDDEN);
        for part in ["[verify] command", "[notify] command", "`./x.sh`"] {
            assert!(problem.detail().contains(part), "{}", problem.detail());
        }
    }
}
