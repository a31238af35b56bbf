//! Server-sent events out of bytes in pieces of any size. No IO: bytes in, events out.

/// One event of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field, empty where there was none.
    pub name: String,
    /// The `data` fields, joined by newlines.
    pub data: String,
}

/// The stream breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadStream {
    /// A line or an event is longer than the limit.
    #[error("an event of the stream is over the limit")]
    TooLong,
    /// Bytes that are not UTF-8.
    #[error("the stream is not UTF-8")]
    NotUtf8,
}

/// Reads a stream of events.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    /// The byte before was a carriage return, so a line feed now ends no further line.
    after_cr: bool,
    name: String,
    data: String,
    has_data: bool,
}

impl SseParser {
    /// A parser that refuses events over `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            name: String::new(),
            data: String::new(),
            has_data: false,
        }
    }

    /// Takes the next bytes and hands each finished event to `each`.
    ///
    /// # Errors
    /// [`BadStream`]; the stream is then of no further use.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(SseEvent)) -> Result<(), BadStream> {
        for byte in bytes {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => {
                    self.after_cr = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    if let Some(event) = self.end_line(&line)? {
                        each(event);
                    }
                }
                _ => {
                    if self.line.len() + self.data.len() >= self.limit {
                        return Err(BadStream::TooLong);
                    }
                    self.line.push(*byte);
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self, line: &[u8]) -> Result<Option<SseEvent>, BadStream> {
        let line = std::str::from_utf8(line).map_err(|_| BadStream::NotUtf8)?;
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            let data = std::mem::take(&mut self.data);
            let event = std::mem::take(&mut self.has_data).then_some(SseEvent { name, data });
            return Ok(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.name),
            // Comments have an empty field; ids and retry times mean nothing to us.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(bytes: &[u8], piece: usize) -> Result<Vec<SseEvent>, BadStream> {
        let mut parser = SseParser::new(64);
        let mut events = Vec::new();
        for piece in bytes.chunks(piece) {
            parser.feed(piece, &mut |event| events.push(event))?;
        }
        Ok(events)
    }

    #[test]
    fn events_end_at_blank_lines_whatever_the_line_ends_and_pieces() {
        let text = b": filler\n\ndata: {\"a\":1}\n\nevent: x\r\ndata: 1\r\ndata:2\r\n\r\ndata\r\rdata: cut";
        for piece in 1..text.len() {
            let events = parse(text, piece).unwrap();
            let plain: Vec<_> =
                events.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
            assert_eq!(plain, [("", "{\"a\":1}"), ("x", "1\n2"), ("", "")], "pieces of {piece}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_refused() {
        assert!(parse(format!("data:{}\n\n", "x".repeat(59)).as_bytes(), 7).is_ok());
        assert_eq!(parse(format!("data:{}\n\n", "x".repeat(60)).as_bytes(), 7), Err(BadStream::TooLong));
        assert_eq!(parse("data:xxxxxxxxxxxxxxx\n".repeat(9).as_bytes(), 7), Err(BadStream::TooLong));
        assert_eq!(parse(b"data: \xff\n\n", 7), Err(BadStream::NotUtf8));
    }

    proptest! {
        #[test]
        fn pieces_never_change_what_is_read(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1_usize..50) {
            prop_assert_eq!(parse(&bytes, piece), parse(&bytes, usize::MAX));
        }
    }
}
