//! `backstop github`: what the server does for GitHub, from a shell or an Action.

use std::io::Write as _;
use std::sync::Arc;

use backstop_core::rerun::reason_of;
use backstop_server::github::{
    Client, ClientError, Github, GuardedAnswer, Mode, Outcome, RerunError, RerunRequest,
    WebhookSecret, rerun,
};
use backstop_server::service::Service;

use super::operate::refuse_if_supervised;
use crate::args::{GithubArguments, GithubCommand, RerunArguments};
use crate::env_vars::{GITHUB_SECRET, GITHUB_TOKENS};
use crate::error::Error;
use crate::exit_code;
use crate::report::{columns, hanging};
use crate::sanitise::harmless;
use crate::store::{Opened, caller};
use crate::terminal::Terminal;

pub fn run(command: &GithubCommand, terminal: &mut Terminal) -> Result<u8, Error> {
    let GithubCommand::Rerun(arguments) = command;
    let opened = Opened::with_threads(&arguments.store)?;
    refuse_if_supervised(&opened, "github rerun")?;
    let client = client(&arguments.github)?.map(Arc::new).ok_or_else(|| {
        Error::Usage(format!(
            "there is no token for GitHub\n\nhint: put one into {}",
            GITHUB_TOKENS.join(" or ")
        ))
    })?;
    let request = request(arguments);
    let answer = opened.wait(async {
        let service = Service::for_a_command(Arc::clone(&opened.store), opened.home.clone());
        let answer = rerun(&service, &client, &request, &caller()).await;
        service.finish().await;
        answer
    })?;
    if arguments.json {
        writeln!(terminal.out, "{:#}", serde_json::json!(answer))?;
    } else {
        write!(terminal.out, "{}", in_words(&answer, request.max_attempts))?;
    }
    Ok(code(&answer))
}

/// What a server knows GitHub by: the environment, which nobody else can read.
pub fn known(arguments: &GithubArguments) -> Result<Github, Error> {
    let secret = std::env::var(GITHUB_SECRET).ok().and_then(WebhookSecret::new);
    Ok(Github { secret, client: client(arguments)?.map(Arc::new) })
}

fn client(arguments: &GithubArguments) -> Result<Option<Client>, Error> {
    let token = GITHUB_TOKENS
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|token| !token.is_empty()));
    let client = token.map(|token| Client::new(&arguments.github_url, &token)).transpose();
    client.map_err(|error: ClientError| Error::Usage(error.to_string()))
}

fn request(arguments: &RerunArguments) -> RerunRequest {
    let (owner, repo) = arguments.repo.clone();
    RerunRequest {
        owner,
        repo,
        pr_number: arguments.pr,
        run_id: arguments.run_id,
        mode: if arguments.all_jobs { Mode::AllJobs } else { Mode::FailedOnly },
        max_attempts: u64::from(arguments.max_attempts),
        request_id: arguments.request_id.clone(),
    }
}

fn in_words(answer: &GuardedAnswer, most: u64) -> String {
    let (outcome, why) = match answer.outcome {
        Outcome::Blocked => ("blocked", harmless(&answer.answer.reasons.join(" "))),
        Outcome::RerunTriggered => ("runs again", harmless(&answer.answer.reasons.join(" "))),
        Outcome::Noop if has(answer, TRIED_TOO_OFTEN) => {
            ("blocked", format!("what failed has been run again as often as it may be ({most})"))
        }
        Outcome::Noop if has(answer, "RUN_IN_PROGRESS") => {
            ("not yet", "the run is still in progress; ask again when it has ended".to_owned())
        }
        Outcome::Noop if has(answer, "ALREADY_RERUN") => {
            ("nothing to do", "what failed was told to run again before".to_owned())
        }
        Outcome::Noop => ("nothing to do", "no job has failed".to_owned()),
    };
    let mut text = hanging(&format!("{outcome}: "), &why);
    for job in &answer.jobs {
        let action = job.action.to_lowercase();
        let line = format!(
            "  {}  {}  {}  {}",
            columns(&harmless(&job.job_name), 30),
            columns(&harmless(job.prior_conclusion.as_deref().unwrap_or("–")), 12),
            columns(&action, 7),
            job.reason_code.unwrap_or_default()
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A block exits like the stop that it is, also where the decision would go on and only the jobs
/// have had their attempts.
fn code(answer: &GuardedAnswer) -> u8 {
    let reason = match answer.outcome {
        Outcome::Blocked => answer.answer.reason_code.unwrap_or_default(),
        Outcome::Noop if has(answer, TRIED_TOO_OFTEN) => TRIED_TOO_OFTEN,
        Outcome::Noop | Outcome::RerunTriggered => return exit_code::OK,
    };
    reason_of(reason).reason().exit_code
}

/// Whether a job was passed over for this.
fn has(answer: &GuardedAnswer, reason: &str) -> bool {
    answer.jobs.iter().any(|job| job.reason_code == Some(reason))
}

const TRIED_TOO_OFTEN: &str = "MAX_ATTEMPTS";

impl From<RerunError> for Error {
    fn from(error: RerunError) -> Self {
        match error {
            RerunError::Invalid { .. } => Self::Usage(error.to_string()),
            other => Self::Unreachable(other.to_string()),
        }
    }
}
