//! What the run asks while it is watched, and the keys that answer it.

use backstop_core::time::Timestamp;
use backstop_runner::keyboard::Keyboard;
use backstop_runner::prompt::{Choice, Matter, Prompt};
use backstop_runner::report::Phase;
use backstop_runner::view::OpenQuestion;

/// A question that is open, where somebody watches at a terminal.
pub(super) struct Asked {
    question: OpenQuestion,
    prompt: Prompt,
    keyboard: Keyboard,
}

impl Asked {
    /// None where there is no keyboard to answer with.
    fn new(question: OpenQuestion) -> Option<Self> {
        let matter = if question.is_of_turn() { Matter::Turn } else { Matter::Question };
        let prompt = Prompt::new(matter, question.question.clone());
        let keyboard = Keyboard::is_there().then(Keyboard::open).flatten()?;
        Some(Self { question, prompt, keyboard })
    }

    /// Goes with the question that is open now: a note that is being typed stays as long as that.
    pub(super) fn follow(asked: &mut Option<Self>, open: Option<&OpenQuestion>) {
        if asked.as_ref().map(|asked| &asked.question) != open {
            // The terminal is given back before it is taken again.
            *asked = None;
            *asked = open.cloned().and_then(Self::new);
        }
    }

    pub(super) fn phase(&self, now: Timestamp) -> Phase {
        let then = match self.question.on_timeout.as_deref() {
            Some("stop") => "stops",
            Some(_) => "holds",
            None => "",
        };
        Phase::Asking { prompt: self.prompt.clone(), left: self.question.left(now), then }
    }

    /// Waits for keys; tells what they answer, once they do. Without a question nobody types.
    pub(super) async fn typed(asked: Option<&mut Self>) -> Option<(Choice, Option<String>)> {
        match asked {
            Some(asked) => {
                let keys = asked.keyboard.typed().await;
                asked.prompt.typed(&keys)
            }
            None => std::future::pending().await,
        }
    }
}
