//! Claude Code: its streams, its single results, its session transcripts, and its plain words.

pub(crate) mod arguments;
mod calls;
mod denied;
mod failing;
mod meter;
mod own;
mod quota;
mod result;
mod speaking;
mod streaming;
mod wire;

use std::borrow::Cow;

use backstop_core::event::{Action, Worker, WorkerStatus};

use crate::fault::{from_category, from_status, of_kind, recognise};
use crate::plain::Words;
use crate::repair::repaired;
use crate::tail::object_behind_a_cut_one;
use crate::{Adapter, Exit, FaultKind, Heard, Listener, Moment, Outcome, Record, Shown, Voice};
use calls::Calls;
use denied::Denied;
use failing::Failing;
use meter::Meter;
use result::{Trace, failure, is_refuted, is_result, is_success, kind_of_reason};
use speaking::Speaking;
use streaming::Streaming;
use wire::{Line, Message, StreamEvent};

/// Reads what Claude Code writes in any of its formats; which one it is shows as it comes.
#[derive(Debug, Default)]
pub struct Claude {
    launch: Launch,
    meter: Meter,
    calls: Calls,
    failing: Failing,
    speaking: Speaking,
    /// It is a transcript as others export it.
    exported: bool,
    streaming: Streaming,
    /// Lines that are no record, as long as there was none.
    words: Words,
    /// The end of the standard error.
    complaints: Words,
}

/// One launch, as far as it has told.
#[derive(Debug, Default)]
struct Launch {
    begun: bool,
    initialised: bool,
    /// The conversation was compacted, and the agent has said nothing since: the process may open
    /// its session once more.
    is_compacted: bool,
    session: String,
    outcome: Option<Outcome>,
    /// The trace of its last result.
    result: Option<Trace>,
    /// It works on after its result.
    works_on: bool,
    /// Records are of a transcript, which has no result.
    transcript: bool,
    /// The transcript is a sub-agent's own, where everything is a side chain.
    side_file: bool,
    /// How the latest message ended, should there be no result.
    latest: Option<Outcome>,
    /// All that it told is one result, as `--output-format json` has it: there is nothing in whose
    /// course another could follow.
    is_lone_result: bool,
}

impl Launch {
    /// Whether one more beginning is another launch's, where this one has not told its end.
    fn is_opened_again(&self) -> bool {
        self.initialised && self.outcome.is_none() && !self.is_compacted
    }
}

/// What an object turned out to be.
enum Reading {
    Record,
    /// Nothing that Claude Code tells of itself: an agent may answer in JSON.
    Foreign,
    /// A broken record. Whatever stands in it, the agent has not said it.
    Unreadable,
}

impl Claude {
    pub fn new() -> Self {
        Self::default()
    }

    fn json(&mut self, text: &str, moment: &Moment, listener: &mut dyn Listener) -> Reading {
        if let Ok(line) = serde_json::from_str(text) {
            return self.object(&line, moment, listener);
        }
        if let Some(Ok(line)) = repaired(text).as_deref().map(serde_json::from_str) {
            return self.object(&line, moment, listener);
        }
        match object_behind_a_cut_one(text).map(serde_json::from_str) {
            Some(Ok(line)) => self.object(&line, moment, listener),
            Some(Err(_)) | None => Reading::Unreadable,
        }
    }

    fn object(&mut self, line: &Line<'_>, moment: &Moment, listener: &mut dyn Listener) -> Reading {
        if let Some(lines) = &line.loglines {
            self.exported = true;
            // Nobody nests transcripts, so this is the one level of them.
            for raw in lines {
                let repaired = repaired(raw.get());
                let line = serde_json::from_str(repaired.as_deref().unwrap_or(raw.get()));
                line.iter().for_each(|line| self.line(line, moment, listener));
            }
            return Reading::Record;
        }
        // An error without any is somebody else's, such as a log's.
        let says_nothing = line.error.category.is_empty() && line.error.message.is_empty();
        // Until one came, it may be the answer that has a type.
        let is_anybodys = !self.launch.begun && line.transcript_id.is_empty() && !is_own(line);
        if line.kind.is_empty() || &*line.kind == "error" && says_nothing || is_anybodys {
            return Reading::Foreign;
        }
        self.line(line, moment, listener);
        Reading::Record
    }

    fn line(&mut self, line: &Line<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let result = (&*line.kind == "result" && is_result(line)).then(|| Trace::of(line));
        if result.is_some_and(|result| self.is_shown_again(result)) {
            return;
        }
        self.begin(line, listener);
        self.launch.result = result.or(self.launch.result);
        let at = line.timestamp.parse().ok();
        if let Some(at) = at {
            listener.hear(Heard::At(at));
        }
        // Reset times count from the record that tells of the limit.
        let dated = at.map(|_| moment.of(at));
        let moment = dated.as_ref().unwrap_or(moment);
        if !matches!(&*line.kind, "assistant" | "result" | "rate_limit_event") {
            self.failing.flush(listener);
        }
        match &*line.kind {
            "assistant" => self.assistant(line, moment, listener),
            "user" => self.user(line, listener),
            "result" if is_result(line) => self.result(line, moment, listener),
            "system" => self.system(line, listener),
            "stream_event" => self.stream_event(line, listener),
            "rate_limit_event" => {
                if let Some(limit) = &line.rate_limit_info.0 {
                    match quota::tell(limit, listener) {
                        Some(fault) => self.failing.reject(fault),
                        None => self.failing.got_through(),
                    }
                }
            }
            "error" => self.bare_error(line, moment, listener),
            "conversation_reset" => self.meter.reset(),
            _ => {}
        }
    }

    /// Whether the launch has ended with this very result, and it is only shown once more: scripts
    /// like to print it.
    fn is_shown_again(&self, result: Trace) -> bool {
        let launch = &self.launch;
        let is_over = launch.outcome.is_some() && !launch.works_on && self.meter.is_idle();
        let is_lone = launch.is_lone_result;
        is_over && launch.result.is_some_and(|latest| latest.is_shown_by(&result, is_lone))
    }

    /// Notices that a record belongs to another launch than those before.
    fn begin(&mut self, line: &Line<'_>, listener: &mut dyn Listener) {
        let launch = &self.launch;
        let transcript = !line.transcript_id.is_empty() || self.exported;
        let session = if transcript { &line.transcript_id } else { &line.session_id };
        let ended = launch.outcome.is_some() && !launch.works_on;
        let initialises = &*line.kind == "system" && &*line.subtype == "init";
        let results = &*line.kind == "result" && is_result(line);
        if results && launch.is_lone_result {
            self.meter.reset();
        }
        let another = !launch.begun
            || (!transcript
                && !session.is_empty()
                && !launch.session.is_empty()
                && launch.session != **session)
            // In one process, every turn begins like a launch, but only after what it works on.
            || (initialises && (ended || launch.is_opened_again()))
            || (results && ended && !self.meter.is_running(line, session));
        if another {
            self.end_launch(listener);
            self.launch = Launch { begun: true, ..Launch::default() };
            self.meter.launch(listener);
            listener.hear(Heard::Launched);
        }
        let launch = &mut self.launch;
        launch.is_lone_result = another && results;
        match (&*line.kind, &*line.subtype) {
            ("system", "compact_boundary") => launch.is_compacted = true,
            ("system", "init") | ("assistant" | "stream_event", _) => launch.is_compacted = false,
            _ => {}
        }
        if launch.session.is_empty() {
            launch.session = session.to_string();
        }
        if matches!(&*line.kind, "assistant" | "user") {
            if transcript && !launch.transcript {
                launch.side_file = line.sidechain.0;
            }
            launch.transcript |= transcript;
        }
        let works = match &*line.kind {
            "assistant" | "user" | "stream_event" => true,
            "system" => line.subtype.starts_with("task_"),
            _ => false,
        };
        launch.works_on |= works && launch.outcome.is_some();
        if initialises {
            launch.initialised = true;
            // The next turn of the same process.
            if launch.works_on {
                launch.works_on = false;
                launch.outcome = None;
            }
        }
    }

    fn end_launch(&mut self, listener: &mut dyn Listener) {
        self.speaking.end_turn(listener);
        self.calls.finish(listener);
        self.calls.denied = Denied::default();
        if self.launch.outcome != Some(Outcome::Succeeded) || self.launch.works_on {
            self.failing.give_up(listener);
        }
        self.failing.went_on(listener);
        self.failing.got_through();
        if self.launch.begun && self.launch.outcome.is_none() && !self.launch.transcript {
            listener.hear(Heard::Ended(Outcome::CutOff));
        }
    }

    fn assistant(&mut self, line: &Line<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let Some(message) = &line.message.0 else { return };
        let main_loop = self.is_main_loop(line);
        let flagged = line.api_error.0 || line.transcript_api_error.0;
        if flagged || !line.error.category.is_empty() || &*message.model == "<synthetic>" {
            self.synthetic(line, message, flagged, moment, listener);
            return;
        }
        if let Some(counts) = message.usage.0 {
            self.meter.message(&message.id, &message.model, main_loop, counts, listener);
        }
        if main_loop {
            self.failing.went_on(listener);
            self.failing.got_through();
            if let Some(previous) = self.speaking.begin_turn(&message.id, listener) {
                self.calls.gone_on(&previous, listener);
            }
            self.launch.latest =
                (&*message.stop_reason == "end_turn").then_some(Outcome::Succeeded);
        }
        if let wire::Content::Text(text) = &message.content
            && main_loop
        {
            self.speaking.say(text, listener);
        }
        for block in message.content.blocks() {
            match &*block.kind {
                "text" if main_loop => self.speaking.say(&block.text, listener),
                "tool_use" => {
                    if main_loop {
                        self.speaking.act();
                    }
                    self.calls.call(&message.id, block, listener);
                }
                "text" | "thinking" | "redacted_thinking" => {}
                _ if main_loop => self.speaking.hold(),
                _ => {}
            }
        }
    }

    /// A message that the program wrote itself, mostly to tell of a failure.
    fn synthetic(
        &mut self,
        line: &Line<'_>,
        message: &Message<'_>,
        flagged: bool,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) {
        let text = message.content.text();
        let category = &*line.error.category;
        let status = line.transcript_api_status.status().or(line.api_status.status());
        let known = status
            .and_then(|status| from_status(status, &text, moment))
            .or_else(|| recognise(&text, moment));
        let fault = match known {
            Some(fault) => fault,
            None if flagged || !category.is_empty() => {
                of_kind(from_category(category).unwrap_or(FaultKind::Other), &text, moment)
            }
            None => return,
        };
        if self.is_main_loop(line) {
            self.launch.latest = Some(Outcome::Failed);
            self.failing.hold(fault);
        } else {
            // A sub-agent's failure is for the main loop to deal with.
            listener.hear(Heard::Shown(Shown::Error(&fault.message)));
        }
    }

    fn user(&mut self, line: &Line<'_>, listener: &mut dyn Listener) {
        let Some(message) = &line.message.0 else { return };
        let blocks = message.content.blocks();
        let mut answers = blocks.iter().filter(|block| &*block.kind == "tool_result").peekable();
        if answers.peek().is_some() {
            answers.for_each(|block| self.calls.returned(block, listener));
            return;
        }
        let text = message.content.text();
        let genuine = self.launch.transcript
            && self.is_main_loop(line)
            && !line.meta.0
            && !line.compact_summary.0
            && !text.trim().is_empty()
            && !NOT_BY_PEOPLE.iter().any(|start| text.trim_start().starts_with(start));
        if genuine {
            self.speaking.end_turn(listener);
            listener.hear(Heard::Event(action("user", &text).into()));
        }
    }

    fn result(&mut self, line: &Line<'_>, moment: &Moment, listener: &mut dyn Listener) {
        self.speaking.complete_turn(listener);
        self.calls.finish(listener);
        let was_idle = self.meter.is_idle();
        let session = std::mem::take(&mut self.launch.session);
        self.meter.result(line, &session, listener);
        self.launch.session = session;
        let denied = std::mem::take(&mut self.calls.denied);
        let latest = self.launch.latest.take();
        let outcome = if is_success(line) && latest == Some(Outcome::Failed) {
            // Its last words were an error of its own, so what it gives as the result is none.
            self.failing.give_up(listener);
            self.speaking.forget();
            Outcome::Failed
        } else if is_success(line) && !is_refuted(line, was_idle, moment) {
            self.failing.went_on(listener);
            self.failing.got_through();
            self.speaking.conclude(&line.result, listener);
            blocked(&denied, line, listener);
            Outcome::Succeeded
        } else {
            let mut fault = failure(line, moment);
            if fault.kind == FaultKind::Other && !self.failing.is_explained() {
                fault.kind = kind_of_reason(&line.terminal_reason);
            }
            // A budget that allows nothing at all will allow no more to the next launch.
            let refused = was_idle && line.total_cost_usd.amount() == Some(0.0);
            if fault.kind == FaultKind::BudgetLimit && refused {
                fault.kind = FaultKind::SpendCap;
            }
            // With others it was not for want of permission that it ended.
            if matches!(fault.kind, FaultKind::Other | FaultKind::TurnLimit) {
                blocked(&denied, line, listener);
            }
            self.failing.tell(fault, listener);
            self.speaking.forget();
            Outcome::Failed
        };
        self.launch.outcome = Some(outcome);
        self.launch.works_on = false;
        listener.hear(Heard::Ended(outcome));
    }

    fn system(&mut self, line: &Line<'_>, listener: &mut dyn Listener) {
        let notice = match &*line.subtype {
            "init" => {
                self.meter.window.start(&line.model);
                if line.model.is_empty() {
                    return;
                }
                format!("model {}", &*line.model)
            }
            "compact_boundary" => {
                self.speaking.end_turn(listener);
                listener.hear(Heard::Event(action("compaction", "compaction").into()));
                "the context was compacted".to_owned()
            }
            // The program tries again by itself: only when it gives up has anything failed.
            "api_retry" => format!(
                "retry {} of {} in {} s: {}",
                line.attempt.count(),
                line.max_retries.count(),
                line.retry_delay_ms.count().div_ceil(1000),
                if line.error.category.is_empty() { "connection" } else { &line.error.category },
            ),
            "api_error" => match (&*line.error.message, line.error.status.status()) {
                ("", Some(status)) => format!("retry after an error: status {status}"),
                (message, _) => format!("retry after an error: {message}"),
            },
            "permission_denied" => format!("permission denied: {}", &*line.tool_name),
            "informational" => line.content.to_string(),
            _ => return,
        };
        listener.hear(Heard::Shown(Shown::Notice(&crate::excerpt(&notice))));
    }

    fn stream_event(&mut self, line: &Line<'_>, listener: &mut dyn Listener) {
        let Some(StreamEvent { kind, message, usage }) = &line.event.0 else { return };
        let main_loop = self.is_main_loop(line);
        match (&**kind, &message.0) {
            ("message_start", Some(message)) => {
                self.streaming.begin(&line.parent_tool_use_id, &message.id);
                if let Some(counts) = message.usage.0 {
                    self.meter.message(&message.id, &message.model, main_loop, counts, listener);
                }
            }
            ("message_delta", _) => {
                // Without its beginning nobody knows which message grows.
                if let (Some(counts), Some(id)) =
                    (usage.0, self.streaming.of(&line.parent_tool_use_id))
                {
                    self.meter.message(id, "", main_loop, counts, listener);
                }
            }
            _ => {}
        }
    }

    /// An error of the API where a result was expected.
    fn bare_error(&mut self, line: &Line<'_>, moment: &Moment, listener: &mut dyn Listener) {
        let (category, message) = (&*line.error.category, &*line.error.message);
        let text = if message.is_empty() { category } else { message };
        let status = line.error.status.status();
        let fault = status
            .and_then(|status| from_status(status, text, moment))
            .or_else(|| recognise(text, moment))
            .unwrap_or_else(|| {
                of_kind(from_category(category).unwrap_or(FaultKind::Other), text, moment)
            });
        self.failing.tell(fault, listener);
        self.launch.outcome = Some(Outcome::Failed);
        listener.hear(Heard::Ended(Outcome::Failed));
    }

    fn is_main_loop(&self, line: &Line<'_>) -> bool {
        line.parent_tool_use_id.is_empty() && (!line.sidechain.0 || self.launch.side_file)
    }

    /// There was no record at all: the output is the agent's words, or what went wrong.
    fn plain_words(
        &mut self,
        exit: Option<Exit>,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        let failed = exit.is_some_and(|exit| !exit.succeeded());
        // A failure is all that is printed, with a hint below it at most, or the last of it. An
        // agent that exits as if all were well has said nothing else.
        let suspects = if failed {
            [self.words.last_line(), self.words.first_of_few()]
        } else {
            [self.words.only_line(), None]
        };
        let fault = suspects.into_iter().flatten().find_map(|line| own::message(line, moment));
        if let Some(fault) = fault {
            self.failing.tell(fault, listener);
            return Outcome::Failed;
        }
        let words = self.words.text();
        if words.is_empty() {
            return if failed { Outcome::Failed } else { Outcome::CutOff };
        }
        listener.hear(Heard::Said(Voice::Result, words));
        if failed { Outcome::Failed } else { Outcome::Succeeded }
    }

    /// Only the standard error can say why there was no result.
    fn complain(&mut self, moment: &Moment, listener: &mut dyn Listener) {
        let lines = self.complaints.text().lines().rev();
        if let Some(fault) = lines.take(20).find_map(|line| recognise(line, moment)) {
            self.failing.tell(fault, listener);
        }
    }
}

impl Adapter for Claude {
    fn record(&mut self, record: Record<'_>, moment: &Moment, listener: &mut dyn Listener) {
        match record {
            Record::Json(bytes) => {
                // Looking for what is not text takes far longer than seeing that there is none.
                let text = str::from_utf8(bytes)
                    .map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
                match self.json(&text, moment, listener) {
                    Reading::Record => self.words.clear(),
                    Reading::Foreign if !self.launch.begun => {
                        self.words.push(&text);
                        listener.hear(Heard::Shown(Shown::Text(&text)));
                    }
                    Reading::Foreign | Reading::Unreadable => {}
                }
            }
            Record::Text(line) => {
                if !self.launch.begun && !line.trim_start().starts_with("{\"") {
                    self.words.push(line);
                    listener.hear(Heard::Shown(Shown::Text(line)));
                }
            }
        }
    }

    fn error_line(&mut self, line: &str, _moment: &Moment, _listener: &mut dyn Listener) {
        self.complaints.push(line);
    }

    fn finish(
        &mut self,
        exit: Option<Exit>,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        self.speaking.end_turn(listener);
        self.calls.finish(listener);
        self.failing.flush(listener);
        let failed = exit.is_some_and(|exit| !exit.succeeded());
        let outcome = if !self.launch.begun {
            self.plain_words(exit, moment, listener)
        } else if self.launch.transcript && self.launch.outcome.is_none() {
            self.launch.latest.unwrap_or(Outcome::CutOff)
        } else {
            self.launch.outcome.filter(|_| !self.launch.works_on).unwrap_or(Outcome::CutOff)
        };
        if outcome != Outcome::Succeeded {
            self.failing.give_up(listener);
        }
        if failed && outcome != Outcome::Succeeded {
            self.complain(moment, listener);
        }
        // A bad exit after a good result: something went wrong on the way out. Being ended from
        // outside, by a signal, takes nothing away from the result.
        let own = exit.and_then(|exit| exit.code).is_some_and(|code| (1..128).contains(&code));
        if own && outcome == Outcome::Succeeded { Outcome::Failed } else { outcome }
    }
}

/// Whether Claude Code prints such records.
fn is_own(line: &Line<'_>) -> bool {
    let kinds = ["system", "assistant", "user", "stream_event", "rate_limit_event", "error"];
    let has_session = !line.session_id.is_empty();
    has_session || kinds.contains(&&*line.kind) || &*line.kind == "result" && is_result(line)
}

/// Tells that a person is needed, where one is.
fn blocked(denied: &Denied, line: &Line<'_>, listener: &mut dyn Listener) {
    let Some(needed) = denied.needs(line) else { return };
    listener.hear(Heard::Shown(Shown::Error(&needed)));
    let status = WorkerStatus::Blocked;
    listener.hear(Heard::Event(Worker { status, detail: Some(needed), retry_at: None }.into()));
}

fn action(kind: &str, signature: &str) -> Action {
    let signature = crate::excerpt(signature).into_owned();
    Action { signature, kind: kind.to_owned(), ..Action::default() }
}

/// How texts begin that stand in the place of a person's and are written by the program.
const NOT_BY_PEOPLE: [&str; 7] = [
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "<task-notification>",
    "<bash-",
    "Caveat: ",
    "[Request interrupted",
];

#[cfg(test)]
mod tests;
