//! The bytes of a request, and what is left out of it. Sending it is `llama`'s.

use serde_json::json;

use crate::{
    config::Config,
    history::{self, Entry},
    session::Session,
};

/// The body of a request. It begins with the session's baseline, byte for byte the same each time, so that the server's prefix
/// cache hits.
pub(super) fn body(session: &Session, config: &Config) -> String {
    let baseline = session.baseline();
    let messages: Vec<String> = history::messages(baseline.system(), session.entries())
        .into_iter()
        .map(|message| message.to_string())
        .collect();
    let tools = match baseline.tools() {
        "[]" => String::new(),
        tools => format!("\"tools\":{tools},\"tool_choice\":\"auto\","),
    };
    let mut settings = json!({
        "cache_prompt": true,
        "id_slot": session.slot(),
        "max_tokens": config.model.max_tokens,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if let Some(settings) = settings.as_object_mut() {
        let name = config.model.name.as_ref().map(|name| ("model", json!(name)));
        let temperature = config.model.temperature.map(|value| ("temperature", json!(value)));
        settings.extend(name.into_iter().chain(temperature).map(|(key, value)| (key.to_owned(), value)));
    }
    let settings = settings.to_string();
    let settings = settings.strip_prefix('{').unwrap_or(&settings);
    format!("{{{tools}\"messages\":[{}],{settings}", messages.join(","))
}

/// How many of the oldest entries can be left out so that every call keeps its result and the user's last words stay.
pub(super) fn droppable(entries: &[Entry]) -> Option<usize> {
    let last_user = entries.iter().rposition(|entry| matches!(entry, Entry::User(_)))?;
    let notes = usize::from(matches!(entries.first(), Some(Entry::Note(_))));
    if last_user > notes {
        // Half of what is older, but whole turns.
        let middle = last_user.div_ceil(2);
        let turn =
            entries.iter().take(last_user).skip(middle).position(|entry| matches!(entry, Entry::User(_)));
        return Some(turn.map_or(last_user, |offset| middle + offset));
    }
    None
}

/// `text` within `max` bytes: the middle is left out, and that is said.
pub(super) fn fit(text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    let half = max / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let (head, tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} bytes left out here]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_keeps_head_and_tail_and_says_what_is_missing() {
        assert_eq!(fit("abcdef".to_owned(), 6), "abcdef");
        assert_eq!(fit("abcdefg".to_owned(), 6), "abc\n[1 bytes left out here]\nefg");
        let cut = fit("ü".repeat(10), 7);
        assert!(cut.starts_with('ü') && cut.ends_with('ü') && cut.contains("bytes left out here"), "{cut}");
    }

    #[test]
    fn whole_turns_are_left_out_and_the_last_words_stay() {
        let user = || Entry::User("u".to_owned());
        let said = || Entry::Assistant("a".to_owned());
        assert_eq!(droppable(&[user(), said()]), None);
        assert_eq!(droppable(&[user(), said(), user()]), Some(2));
        assert_eq!(droppable(&[user(), said(), user(), said(), user(), said(), user()]), Some(4));
        assert_eq!(droppable(&[Entry::Note("n".to_owned()), user()]), None);
    }
}
