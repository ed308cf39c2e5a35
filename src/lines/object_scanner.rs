//! Finds the end of a JSON object or array by brackets and strings alone.

/// An incremental scan for the end of an object or array.
#[derive(Default)]
pub(super) struct ObjectScanner {
    /// The brackets that are open.
    open: Vec<u8>,
    in_string: bool,
    escaped: bool,
    /// Whether a value has just ended, so that only `,`, `:` or a closing bracket can follow.
    pub(super) after_value: bool,
}

/// The outcome of a scan of some bytes.
pub(super) enum ScanStep {
    /// The offset behind the end.
    Done(usize),
    /// The offset and name of an invalid token.
    Malformed(usize, &'static str),
    More,
}

impl ObjectScanner {
    /// A scan for the end of an array, from within it.
    pub(super) fn within_array() -> ObjectScanner {
        ObjectScanner { open: vec![b'['], ..ObjectScanner::default() }
    }

    /// Scans the next bytes.
    pub(super) fn run(&mut self, bytes: &[u8]) -> ScanStep {
        let mut at = 0;
        while at < bytes.len() {
            if self.in_string {
                match self.string(bytes, at) {
                    Ok(next) => at = next,
                    Err(bad) => return bad,
                }
                continue;
            }
            let byte = bytes[at];
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'{' | b'[' | b'"' if self.after_value => {
                    return ScanStep::Malformed(at, "expected a comma or a closing bracket");
                }
                b'"' => self.in_string = true,
                b'{' | b'[' => self.open.push(byte),
                b'}' | b']' => {
                    if self.open.pop() != Some(if byte == b'}' { b'{' } else { b'[' }) {
                        return ScanStep::Malformed(at, "a closing bracket does not match");
                    }
                    if self.open.is_empty() {
                        return ScanStep::Done(at + 1);
                    }
                    self.after_value = true;
                }
                b',' | b':' => self.after_value = false,
                _ => self.after_value = true,
            }
            at += 1;
        }
        ScanStep::More
    }

    /// Steps through a string; a raw line end in it means that it was never closed.
    fn string(&mut self, bytes: &[u8], mut at: usize) -> std::result::Result<usize, ScanStep> {
        if std::mem::take(&mut self.escaped) {
            at += 1;
        }
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr3(b'"', b'\\', b'\n', rest)) {
            at += found;
            match bytes[at] {
                b'"' => {
                    (self.in_string, self.after_value) = (false, true);
                    return Ok(at + 1);
                }
                b'\n' => return Err(ScanStep::Malformed(at, "a string is not closed")),
                _ if at + 1 == bytes.len() => {
                    self.escaped = true;
                    return Ok(bytes.len());
                }
                _ => at += 2,
            }
        }
        Ok(bytes.len())
    }
}
