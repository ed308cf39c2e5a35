//! Whether the value of a name or in an address is a secret, and not a placeholder, code, or a word.

use super::words::Words;

/// The context of a value in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Between quotes.
    Quoted,
    /// As the rest of a line, or in a list of settings such as a connection string.
    Setting,
    /// Anywhere else, as in code.
    Inline,
    /// In a sentence.
    Sentence,
}

/// The length of a password, in bytes, at least: a shorter one is in every dictionary.
const MIN_PASSWORD_BYTES: usize = 6;
/// The length of a password, in bytes, at most.
pub(super) const MAX_PASSWORD_BYTES: usize = 128;
/// The length of a token, in bytes, at least.
const MIN_TOKEN_BYTES: usize = 12;
/// The entropy of a token in bits a byte, at least.
const MIN_TOKEN_ENTROPY: f64 = 2.5;

/// Whether a value after a word for a password is one: letters with digits or signs, which no word of a
/// program is.
pub(super) fn is_password(value: &str, place: Place) -> bool {
    if !(MIN_PASSWORD_BYTES..=MAX_PASSWORD_BYTES).contains(&value.len()) {
        return false;
    }
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    let has_sign = has(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'.' | b'_' | b'-'));
    let (has_letter, has_digit) = (has(u8::is_ascii_alphabetic), has(u8::is_ascii_digit));
    if place == Place::Quoted && is_app_password(value) {
        return true;
    }
    if !value.bytes().all(|byte| byte.is_ascii_graphic())
        || !has_letter
        || !has_digit && !has_sign && !has_mixed_case(value)
        || is_placeholder(value)
        || NAMES.are_in(value) && is_words(value)
        || is_code(value, place)
    {
        return false;
    }
    match place {
        Place::Quoted | Place::Setting => has_sign || !is_joined_words(value),
        Place::Inline => has_sign || !is_words(value) || has_mixed_case(value),
        Place::Sentence => {
            let (has_lower, has_upper) = (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase));
            let is_made_up =
                has_lower && has_upper && !is_words(value) || has(|byte| b"!@#$%^&*?~+=".contains(byte));
            has_digit && is_made_up && value.len() >= 8
        }
    }
}

/// Whether a password in an address is one, and no placeholder, nor the port before an address of mail.
pub(super) fn is_address_password(value: &str, user: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    const USUAL: [&str; 13] = [
        "postgres", "mysql", "root", "admin", "guest", "test", "rabbitmq", "minio", "mongo", "redis", "pw",
        "host", "pass",
    ];
    value.len() >= 4
        && lower != user.to_ascii_lowercase()
        && !USUAL.contains(&lower.as_str())
        && !value.bytes().all(|byte| byte.is_ascii_digit())
        && !is_placeholder(value)
        && (!NAMES.are_in(value) || !is_words(value))
        && !value.contains(['{', '}', '[', ']', '`', '|'])
        && !is_format(value)
}

/// Whether a value is a format specifier of `printf` or Python.
fn is_format(value: &str) -> bool {
    value.starts_with("%(") || value.len() == 2 && value.starts_with('%')
}

/// Whether a value after a word for a token or a key is one: letters and digits as they come by chance.
pub(super) fn is_token(value: &str, place: Place) -> bool {
    let is_of_letters = value.bytes().all(|byte| byte.is_ascii_graphic());
    let is_of_any = || place == Place::Quoted && value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    value.len() >= MIN_TOKEN_BYTES
        && (is_of_letters || is_of_any() && has_many_signs(value))
        && entropy(value) >= MIN_TOKEN_ENTROPY
        && !is_placeholder(value)
        && !is_code(value, place)
        && (is_uuid(value) || pieces(value).any(is_random) || has_many_signs(value))
}

/// Whether a text is a placeholder for a secret to fill in, or for a redacted one.
fn is_placeholder(value: &str) -> bool {
    #[rustfmt::skip]
    static WORDS: Words = Words::of(&[
        "your", "example", "changeme", "change-me", "change_me", "changeit", "change.", "placeholder",
        "redacted", "xxxx", "***", "...", "dummy", "sample", "insert", "replace", "todo", "fixme",
        "abcdef", "123456", "${", "{{", "$(", "<%", "{%",
    ]);
    let is_between = |begin: char, end: char| value.starts_with(begin) && value.ends_with(end);
    let is_variable = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.'))
    };
    WORDS.are_in(value)
        || is_between('<', '>')
        || is_between('{', '}')
        || is_between('[', ']')
        || is_between('%', '%')
        || value.strip_prefix('$').is_some_and(is_variable)
        || value.strip_prefix("$env:").is_some_and(is_variable)
}

/// Words that name a secret without being one.
static NAMES: Words = Words::of(&[
    "passw",
    "pwd",
    "secret",
    "token",
    "user",
    "credential",
    "api_key",
    "apikey",
    "pass_",
    "confirm",
]);

/// Whether a value is an expression, a path, an address, or a pattern.
fn is_code(value: &str, place: Place) -> bool {
    let bytes = value.as_bytes();
    let calls = bytes.windows(2).any(
        |pair| matches!(pair, [before, b'(' | b'['] if before.is_ascii_alphanumeric() || *before == b'_'),
    );
    let is_call =
        calls && (place == Place::Inline || value.contains([')', ']']) || value.ends_with(['(', '[', '{']));
    let is_path = value.starts_with(['/', '~', '\\', '.', '^', '(', '&', '*', '!', '@', '#', ':'])
        && pieces(value).all(is_word);
    let is_path = is_path || value.contains('/') && is_words(value);
    let is_mail = value.split_once('@').is_some_and(|(name, host)| {
        pieces(name).all(is_word) && host.contains('.') && pieces(host).all(is_word) && !host.ends_with('.')
    });
    let is_expression =
        ["::", "=>", "->", "==", "!=", "&&", "||", "()"].iter().any(|sign| value.contains(sign))
            && pieces(value).all(is_word);
    let is_number = value
        .strip_prefix("0x")
        .is_some_and(|digits| digits.len() <= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_number
        || value.contains("://")
        || value.contains("(?")
        || is_call
        || is_path
        || is_mail
        || is_expression
}

/// The letters and digits between signs.
fn pieces(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| !c.is_ascii_alphanumeric()).filter(|piece| !piece.is_empty())
}

/// Whether a value is words with or without signs between them, as names are.
fn is_words(value: &str) -> bool {
    pieces(value).all(is_word)
}

/// Whether a value is several words, or one that says a type or an algorithm.
fn is_joined_words(value: &str) -> bool {
    const TYPES: [&str; 43] = [
        "int", "uint", "float", "double", "utf", "base", "sha", "md", "aes", "rs", "hs", "es", "ps", "argon",
        "bcrypt", "scrypt", "pbkdf", "oauth", "http", "ipv", "char", "varchar", "nvarchar", "byte", "bytes",
        "uuid", "uuidv", "hex", "string", "str", "text", "ed", "rsa", "ecdsa", "field", "input", "value",
        "var", "arg", "param", "item", "option", "test",
    ];
    let letters = value.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
    is_words(value) && (pieces(value).count() > 1 || TYPES.contains(&letters.as_str()))
}

/// Whether a piece is a word as in names: letters, then at most four digits, or these alone.
fn is_word(piece: &str) -> bool {
    let letters = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    piece.len() - letters.len() <= 4 && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether letters and digits come by chance: words have longer runs of letters of one case, and few of
/// digits.
fn is_random(piece: &str) -> bool {
    const MIN_BYTES: usize = 8;
    let (mut runs, mut digit_runs) = (0_usize, 0_usize);
    let mut before = b' ';
    for byte in piece.bytes() {
        // A capital and the letters after it are one run.
        let is_new = match byte {
            b'0'..=b'9' => !before.is_ascii_digit(),
            b'A'..=b'Z' => !before.is_ascii_uppercase(),
            _ => !before.is_ascii_alphabetic(),
        };
        runs += usize::from(is_new);
        digit_runs += usize::from(is_new && byte.is_ascii_digit());
        before = byte;
    }
    // The longer a piece is, the surer is its mean.
    let most = match piece.len() {
        0..MIN_BYTES => return false,
        MIN_BYTES..16 => 3.0,
        16..20 => 3.5,
        _ => 4.0,
    };
    let mean = piece.len() as f64 / runs.max(1) as f64;
    has_mixed_case(piece)
        || digit_runs >= 3
        || digit_runs >= 1 && mean < most
        || digit_runs >= 2 && piece.len() >= 20
        || piece.len() >= 16 && mean < 2.8
        || is_hex(piece)
}

/// Whether letters are of both cases as they come by chance, and not as words begin.
fn has_mixed_case(value: &str) -> bool {
    const MIN_BYTES: usize = 12;
    const MIN_CHANGES: usize = 5;
    let letters = value.bytes().filter(u8::is_ascii_alphabetic);
    let capitals = letters.clone().filter(u8::is_ascii_uppercase).count();
    let changes = letters.clone().zip(letters.clone().skip(1));
    let changes = changes.filter(|(one, next)| one.is_ascii_uppercase() != next.is_ascii_uppercase()).count();
    let length = letters.count();
    length >= MIN_BYTES && changes >= MIN_CHANGES && (3 * length..=7 * length).contains(&(10 * capitals))
}

/// Whether a value is four groups of four letters: <https://support.google.com/accounts/answer/185833>.
fn is_app_password(value: &str) -> bool {
    value.len() == 19
        && value
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at % 5 == 4 { byte == b' ' } else { byte.is_ascii_lowercase() })
}

/// Whether a piece is hexadecimal, and longer than a word or a number.
fn is_hex(piece: &str) -> bool {
    piece.len() >= 16
        && piece.bytes().all(|byte| byte.is_ascii_hexdigit())
        && piece.bytes().any(|byte| byte.is_ascii_digit())
        && piece.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether a long value has letters, digits, and signs that stand in no name or path.
fn has_many_signs(value: &str) -> bool {
    let is_rare = |byte: &u8| byte.is_ascii_punctuation() && !b"._-/:,;()[]{}'\"=".contains(byte);
    value.len() >= 16
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.as_bytes().iter().filter(|byte| is_rare(byte)).count() >= 3
}

/// Shannon's entropy of the bytes of a text, in bits each.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_usize; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f64;
    let share = |count: &usize| *count as f64 / total;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}
