//! Which messages stream at the moment.

/// The newest message of the main loop and of each sub-agent: they stream side by side.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// The call that a sub-agent works for, which is empty for the main loop, and the message's id.
    messages: Vec<(String, String)>,
}

impl Streaming {
    pub fn begin(&mut self, parent: &str, id: &str) {
        if let Some((_, message)) = self.messages.iter_mut().find(|(of, _)| of == parent) {
            id.clone_into(message);
            return;
        }
        if self.messages.len() == MOST_AT_ONCE {
            self.messages.remove(0);
        }
        self.messages.push((parent.to_owned(), id.to_owned()));
    }

    /// The message that grows, if its beginning was told.
    pub fn of(&self, parent: &str) -> Option<&str> {
        let message = self.messages.iter().find(|(of, _)| of == parent);
        message.map(|(_, id)| &**id).filter(|id| !id.is_empty())
    }
}

/// An agent has a handful of sub-agents; the bound is against one that never stops to make more.
const MOST_AT_ONCE: usize = 64;
