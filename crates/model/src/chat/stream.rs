//! A streamed answer, put together. No IO: chunks in, one completion out.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ModelError;

/// Bytes of one answer, text and arguments together: far above any context that fits a machine.
const ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Tool calls in one answer that are kept at all; the loop's own limit is lower.
const CALLS: u32 = 256;

/// A piece of an answer as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// What the model thinks.
    Reasoning(&'a str),
    /// What it says.
    Text(&'a str),
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Its budget ran out: calls in such an answer may be cut and are never made.
    Length,
    /// A word we do not know.
    Other(String),
    /// It was done.
    Stop,
    /// It wants tools called.
    ToolCalls,
}

/// A tool call as the model wrote it. Nothing in it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The server's id for it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments' exact text.
    pub arguments: String,
}

/// Tokens of a request, where the server said so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt: u64,
    /// Tokens of the prompt that were in the cache.
    pub cached: u64,
    /// Tokens of the answer.
    pub completion: u64,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What it said.
    pub text: String,
    /// What it thought.
    pub reasoning: String,
    /// What it wants called, in its order.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// Tokens, where the server said so.
    pub usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<RawUsage>,
    #[serde(default)]
    error: Option<super::client::ServerError>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: RawDelta,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct RawDelta {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<RawCall>>,
}

#[derive(Deserialize)]
struct RawCall {
    #[serde(default)]
    index: u32,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<RawFunction>,
}

#[derive(Deserialize)]
struct RawFunction {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct RawUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<RawDetails>,
}

#[derive(Deserialize)]
struct RawDetails {
    #[serde(default)]
    cached_tokens: u64,
}

/// Puts chunks together.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    text: String,
    reasoning: String,
    calls: BTreeMap<u32, ToolCall>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    bytes: usize,
}

impl Assembly {
    /// Takes the data of one event. `[DONE]` is nothing to it: a finish reason ends an answer.
    pub(super) fn take(&mut self, data: &str, deltas: &mut impl FnMut(Delta<'_>)) -> Result<(), ModelError> {
        if data == "[DONE]" {
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| ModelError::Garbage {
            detail: format!("a chunk that does not parse: {error}"),
        })?;
        if let Some(error) = chunk.error {
            return Err(error.classify());
        }
        if let Some(usage) = chunk.usage {
            self.usage = Some(Usage {
                prompt: usage.prompt_tokens,
                cached: usage.prompt_tokens_details.map_or(0, |details| details.cached_tokens),
                completion: usage.completion_tokens,
            });
        }
        // Only one answer is ever asked for.
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(()) };
        if let Some(text) = choice.delta.content.filter(|text| !text.is_empty()) {
            self.count(text.len())?;
            deltas(Delta::Text(&text));
            self.text.push_str(&text);
        }
        if let Some(text) = choice.delta.reasoning_content.filter(|text| !text.is_empty()) {
            self.count(text.len())?;
            deltas(Delta::Reasoning(&text));
            self.reasoning.push_str(&text);
        }
        for call in choice.delta.tool_calls.unwrap_or_default() {
            self.take_call(call)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.finish = Some(match reason.as_str() {
                "length" => Finish::Length,
                "stop" => Finish::Stop,
                "tool_calls" => Finish::ToolCalls,
                _ => Finish::Other(reason),
            });
        }
        Ok(())
    }

    /// The whole answer, or that the server went away before its end.
    pub(super) fn finish(self) -> Result<Completion, ModelError> {
        let Self { text, reasoning, calls, finish, usage, bytes: _ } = self;
        let finish = finish.ok_or(ModelError::Died(None))?;
        Ok(Completion { text, reasoning, calls: calls.into_values().collect(), finish, usage })
    }

    fn take_call(&mut self, call: RawCall) -> Result<(), ModelError> {
        if call.index >= CALLS {
            return Err(ModelError::Garbage { detail: format!("tool call number {}", call.index) });
        }
        let function = call.function.unwrap_or(RawFunction { name: None, arguments: None });
        let id = call.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = function.arguments.unwrap_or_default();
        self.count(id.len() + name.len() + arguments.len())?;
        let whole = self.calls.entry(call.index).or_insert_with(|| ToolCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        });
        whole.id.push_str(&id);
        whole.name.push_str(&name);
        whole.arguments.push_str(&arguments);
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > ANSWER_BYTES { Err(ModelError::TooLarge { limit: ANSWER_BYTES }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(chunks: &[&str]) -> Result<(Completion, String), ModelError> {
        let mut heard = String::new();
        let mut assembly = Assembly::default();
        for chunk in chunks {
            assembly.take(chunk, &mut |delta| match delta {
                Delta::Text(text) | Delta::Reasoning(text) => heard.push_str(text),
            })?;
        }
        Ok((assembly.finish()?, heard))
    }

    #[test]
    fn a_call_is_put_together_from_its_pieces() {
        let (completion, heard) = assemble(&[
            r#"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#,
            r#"{"choices":[{"delta":{"content":"I read"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read_file","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"list_dir","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"path\":1}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}"#,
            "[DONE]",
        ])
        .unwrap();
        assert_eq!((completion.text.as_str(), heard.as_str()), ("I read", "I read"));
        assert_eq!(completion.calls.len(), 2);
        assert_eq!(completion.calls[0].arguments, r#"{"path":1}"#);
        assert_eq!(completion.finish, Finish::ToolCalls);
        assert_eq!(completion.usage, Some(Usage { prompt: 9, cached: 8, completion: 3 }));
    }

    #[test]
    fn a_stream_without_a_finish_reason_is_no_answer() {
        let died = assemble(&[r#"{"choices":[{"delta":{"content":"half"}}]}"#, "[DONE]"]);
        assert!(matches!(died, Err(ModelError::Died(None))));
        let error = assemble(&[
            r#"{"error":{"code":500,"message":"x does not match the expected peg-native format","type":"server_error"}}"#,
        ]);
        assert!(matches!(error, Err(ModelError::BadOutput { .. })));
        assert!(matches!(assemble(&["{"]), Err(ModelError::Garbage { .. })));
    }

    #[test]
    fn an_answer_over_the_limit_is_an_error() {
        let chunk =
            format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(ANSWER_BYTES / 2));
        assert!(matches!(assemble(&[&chunk, &chunk, &chunk]), Err(ModelError::TooLarge { .. })));
    }
}
