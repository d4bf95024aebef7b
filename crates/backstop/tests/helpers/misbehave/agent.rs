//! An agent that works nowhere and costs nothing, but prints what one would.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use serde_json::{Value as Json, json};

use super::processes::linger;

/// What to pretend.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Prints a file line by line, as its writer did.
    Play {
        file: PathBuf,
        /// Time after each line.
        #[arg(long, default_value_t = 0)]
        delay_ms: u64,
        /// Exits with this code.
        #[arg(long, default_value_t = 0)]
        exit: u8,
        /// Stays afterwards instead of ending.
        #[arg(long)]
        stay: bool,
    },
    /// Prints a stream like that of Claude Code.
    Agent(Session),
}

impl Command {
    pub fn run(self) -> io::Result<ExitCode> {
        match self {
            Self::Play { file, delay_ms, exit, stay } => {
                for line in fs::read(file)?.split_inclusive(|byte| *byte == b'\n') {
                    let mut out = io::stdout().lock();
                    out.write_all(line)?;
                    out.flush()?;
                    drop(out);
                    thread::sleep(Duration::from_millis(delay_ms));
                }
                if stay {
                    linger();
                }
                Ok(ExitCode::from(exit))
            }
            Self::Agent(session) => session.run(),
        }
    }
}

/// What a session does. Every message calls a tool and uses the same number of tokens.
#[derive(Clone, Debug, clap::Args)]
pub struct Session {
    #[arg(long, default_value_t = 3)]
    messages: u64,
    /// Tokens that every message sends.
    #[arg(long, default_value_t = 100)]
    input: u64,
    /// Tokens that every message says that it got; the result knows twice as many.
    #[arg(long, default_value_t = 10)]
    output: u64,
    /// What it all cost, told by the result.
    #[arg(long)]
    cost: Option<f64>,
    #[arg(long, default_value = "claude-sample-1")]
    model: String,
    /// The size of the context window, told by the result.
    #[arg(long)]
    window: Option<u64>,
    /// Every message is of a sub-agent.
    #[arg(long)]
    sub_agents: bool,
    /// Every message calls its tool for the same thing and gets the same answer.
    #[arg(long)]
    repeat: bool,
    /// What every tool answers.
    #[arg(long, default_value = "fine")]
    answer: String,
    /// What it says at its end.
    #[arg(long, default_value = "All is well.")]
    says: String,
    /// How the result calls itself; `none` for no result at all.
    #[arg(long, default_value = "success")]
    result: String,
    /// The result says that it is an error.
    #[arg(long)]
    is_error: bool,
    /// Time after each message.
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
    /// At SIGINT it prints its result and exits with 0, as Claude Code does.
    #[arg(long)]
    heeds_interrupt: bool,
    #[arg(long, default_value_t = 0)]
    exit: u8,
    /// What it would be asked to do; it pays no heed.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    ignored: Vec<String>,
}

impl Session {
    fn run(self) -> io::Result<ExitCode> {
        if self.heeds_interrupt {
            let signals: SigSet = [Signal::SIGINT].into_iter().collect();
            signals.thread_block()?;
            let session = self.clone();
            thread::spawn(move || {
                // Whoever fails here is killed a little later, which the test then sees.
                if signals.wait().is_ok() && session.conclude().is_ok() {
                    std::process::exit(0);
                }
            });
        }
        let (model, cwd) = (&self.model, "/sample");
        let mut first = json!({"type": "system", "subtype": "init", "cwd": cwd, "model": model});
        first["tools"] = json!(["Bash"]);
        say(first)?;
        for number in 0..self.messages {
            self.message(number)?;
            thread::sleep(Duration::from_millis(self.delay_ms));
        }
        if self.result != "none" {
            self.conclude()?;
        }
        Ok(ExitCode::from(self.exit))
    }

    fn message(&self, number: u64) -> io::Result<()> {
        let step = if self.repeat { 0 } else { number };
        let parent = self.sub_agents.then_some("toolu_parent");
        let call = format!("toolu_{number}");
        let input = json!({"command": format!("make part-{step}")});
        let usage = json!({"input_tokens": self.input, "output_tokens": self.output});
        say(json!({"type": "assistant", "parent_tool_use_id": parent, "message": {
            "id": format!("msg_{number}"), "role": "assistant", "model": self.model,
            "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": input}],
            "usage": usage,
        }}))?;
        say(json!({"type": "user", "parent_tool_use_id": parent, "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call, "content": self.answer}],
        }}))
    }

    fn conclude(&self) -> io::Result<()> {
        let (input, output) = (self.input * self.messages, 2 * self.output * self.messages);
        let mut used = json!({"inputTokens": input, "outputTokens": output});
        if let Some(window) = self.window {
            used["contextWindow"] = window.into();
        }
        let mut result = json!({
            "type": "result", "subtype": self.result, "is_error": self.is_error,
            "num_turns": self.messages, "result": self.says,
            "usage": {"input_tokens": input, "output_tokens": output},
            "modelUsage": {self.model.as_str(): used},
        });
        if let Some(cost) = self.cost {
            result["total_cost_usd"] = cost.into();
        }
        say(result)
    }
}

fn say(mut record: Json) -> io::Result<()> {
    record["session_id"] = "7b0c1f52-sample".into();
    let mut out = io::stdout().lock();
    writeln!(out, "{record}")?;
    out.flush()
}
