//! Equations as text on one line: `a/(b+c)`, `r^2`, `√(x+1)`. Elements of MathML and of Office's own
//! language.

use super::xml::{XmlStep, attribute};

/// An equation, as far as it is read.
#[derive(Default)]
pub(super) struct Equation {
    open: Vec<MathElement>,
    /// The number of open elements that are deeper than parts are kept.
    deeper: usize,
}

/// The deepest nesting; what is deeper belongs to the element above it, so that time is linear in the length.
const MAX_DEPTH: usize = 64;

/// An element that has begun.
#[derive(Default)]
struct MathElement {
    name: String,
    /// The names and the texts of the elements in it; texts of its own have no name.
    inner: Vec<(String, String)>,
    /// The signs that properties name: of a sum, before, between and behind brackets.
    sign: Option<String>,
    begin: Option<String>,
    separator: Option<String>,
    end: Option<String>,
}

impl MathElement {
    fn named(&self, name: &str) -> String {
        join(self.inner.iter().filter(|(known, _)| known == name).map(|(_, text)| text.as_str()))
    }

    fn all(&self) -> String {
        join(self.inner.iter().map(|(_, text)| text.as_str()))
    }

    /// The texts of the elements in it.
    fn each(&self) -> Vec<&str> {
        self.inner.iter().filter(|(name, _)| !name.is_empty()).map(|(_, text)| text.as_str()).collect()
    }

    fn at(&self, index: usize) -> &str {
        self.each().get(index).copied().unwrap_or_default()
    }

    fn text(self) -> String {
        let has_text_alone = self.inner.iter().all(|(name, _)| name.is_empty());
        match self.name.as_str() {
            // Another form of what is before it.
            "annotation" | "annotation-xml" => String::new(),
            "mspace" => " ".to_owned(),
            // Its content is deeper than elements are kept.
            _ if has_text_alone => self.all(),
            "f" => format!("{}/{}", group(&self.named("num")), group(&self.named("den"))),
            "mfrac" => format!("{}/{}", group(self.at(0)), group(self.at(1))),
            "sSup" => format!("{}{}", self.named("e"), raised("^", &self.named("sup"))),
            "msup" | "mover" => format!("{}{}", self.at(0), raised("^", self.at(1))),
            "sSub" => format!("{}{}", self.named("e"), raised("_", &self.named("sub"))),
            "msub" | "munder" => format!("{}{}", self.at(0), raised("_", self.at(1))),
            "sSubSup" | "sPre" => {
                let (sub, sup) = (raised("_", &self.named("sub")), raised("^", &self.named("sup")));
                format!("{}{sub}{sup}", self.named("e"))
            }
            "msubsup" | "munderover" => {
                format!("{}{}{}", self.at(0), raised("_", self.at(1)), raised("^", self.at(2)))
            }
            "limLow" => format!("{}{}", self.named("e"), raised("_", &self.named("lim"))),
            "limUpp" => format!("{}{}", self.named("e"), raised("^", &self.named("lim"))),
            "rad" => format!("{}√{}", self.named("deg"), group(&self.named("e"))),
            "msqrt" => format!("√{}", group(&self.all())),
            "mroot" => format!("{}√{}", self.at(1), group(self.at(0))),
            "nary" => {
                let (sub, sup) = (raised("_", &self.named("sub")), raised("^", &self.named("sup")));
                let sign = self.sign.as_deref().unwrap_or("∫");
                format!("{sign}{sub}{sup} {}", self.named("e"))
            }
            "d" | "mfenced" => {
                let separator = self.separator.as_deref().unwrap_or(if self.name == "d" { "|" } else { "," });
                let (begin, end) = (self.begin.as_deref().unwrap_or("("), self.end.as_deref().unwrap_or(")"));
                format!("{begin}{}{end}", self.each().join(separator))
            }
            "func" => format!("{} {}", self.named("fName"), self.named("e")),
            "m" | "mtable" => format!("[{}]", self.each().join("; ")),
            "mr" | "mtr" => self.each().join(", "),
            "eqArr" => self.each().join("; "),
            _ => self.all(),
        }
    }
}

impl Equation {
    /// An equation whose element has begun.
    pub(super) fn begin(name: &str) -> Equation {
        let mut equation = Equation::default();
        equation.start(name, |_| None);
        equation
    }

    /// Takes a step through XML; the text of the equation, if it ends with that.
    pub(super) fn step(&mut self, step: &XmlStep) -> Option<String> {
        match step {
            XmlStep::Start(tag) => self.start(tag.local_name().as_ref(), |name| attribute(tag, name)),
            XmlStep::End(_) => return self.end(),
            XmlStep::Text(text) => self.push(text),
        }
        None
    }

    /// Begins an element; `attribute` gives its attributes by their names.
    pub(super) fn start(&mut self, name: &str, attribute: impl Fn(&str) -> Option<String>) {
        if self.open.len() >= MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        // A sign stands in the properties of its element.
        let above = self.open.len().checked_sub(2).and_then(|at| self.open.get_mut(at));
        if let Some(part) = above {
            match name {
                "chr" => part.sign = attribute("val"),
                "begChr" => part.begin = attribute("val"),
                "sepChr" => part.separator = attribute("val"),
                "endChr" => part.end = attribute("val"),
                _ => {}
            }
        }
        let mut part = MathElement { name: name.to_owned(), ..MathElement::default() };
        if name == "mfenced" {
            (part.begin, part.end) = (attribute("open"), attribute("close"));
            part.separator = attribute("separators");
        }
        self.open.push(part);
    }

    pub(super) fn push(&mut self, text: &str) {
        if let Some(part) = self.open.last_mut() {
            // White space between elements means nothing.
            let is_text = matches!(part.name.as_str(), "t" | "mtext");
            let text = if is_text { text.to_owned() } else { text.split_whitespace().collect() };
            let text = without_invisible(&text);
            if !text.is_empty() {
                part.inner.push((String::new(), text));
            }
        }
    }

    /// Ends the innermost element; the text of the equation, if that is the last one.
    pub(super) fn end(&mut self) -> Option<String> {
        if self.deeper > 0 {
            self.deeper -= 1;
            return None;
        }
        let part = self.open.pop()?;
        let Some(above) = self.open.last_mut() else { return Some(part.text()) };
        let name = part.name.clone();
        // Properties have no text.
        if !name.ends_with("Pr") {
            above.inner.push((name, part.text()));
        }
        None
    }

    /// Ends all elements.
    pub(super) fn end_all(&mut self) -> Option<String> {
        self.deeper = 0;
        (0..=self.open.len()).find_map(|_| self.end())
    }
}

/// Whether an equation would run into the word before it.
pub(super) fn runs_into(before: &str, equation: &str) -> bool {
    before.ends_with(char::is_alphanumeric) && equation.starts_with(char::is_alphanumeric)
}

/// Joins texts, with a space between words.
fn join<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    let mut last_is_word = false;
    for text in texts.filter(|text| !text.is_empty()) {
        let is_word = text.chars().count() > 1 && text.chars().all(char::is_alphabetic);
        let touches = joined.chars().next_back().is_some_and(char::is_alphanumeric)
            && text.starts_with(char::is_alphanumeric);
        if touches && (is_word || last_is_word) {
            joined.push(' ');
        }
        joined.push_str(text);
        last_is_word = is_word;
    }
    joined
}

/// A text without the signs that are not seen: between a function and its argument is a blank.
fn without_invisible(text: &str) -> String {
    let seen = |c: char| match c {
        '\u{2061}' => Some(' '),
        '\u{2062}'..='\u{2064}' | '\u{200b}' | '\u{feff}' => None,
        c => Some(c),
    };
    text.chars().filter_map(seen).collect()
}

/// A text in brackets, unless it is one sign, number or name.
fn group(text: &str) -> String {
    let text = text.trim();
    if text.chars().nth(1).is_none() || text.chars().all(|c| c.is_alphanumeric() || c == '.') {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// A text above or below another; nothing if it has none.
fn raised(sign: &str, text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!("{sign}{}", group(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::xml;

    fn read(xml: &str) -> String {
        let (mut equation, mut text) = (Equation::default(), None);
        let read = xml::walk(xml.as_bytes(), |step| text = equation.step(&step));
        read.unwrap();
        text.unwrap()
    }

    #[test]
    fn equations_are_text_on_one_line() {
        for (xml, text) in [
            ("<math><msup><mi>r</mi><mn>2</mn></msup></math>", "r^2"),
            ("<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>", "(a+b)/2"),
            ("<math> <mi>sin</mi> <mi>x</mi> </math>", "sin x"),
            ("<math><semantics><mi>x</mi><annotation encoding='TeX'>x</annotation></semantics></math>", "x"),
            (
                "<m:oMath><m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e><m:r><m:t>x</m:t></m:r></m:e></m:d></m:oMath>",
                "[x]",
            ),
            (
                "<m:oMath><m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub><m:r><m:t>i=1</m:t></m:r></m:sub><m:sup><m:r><m:t>n</m:t></m:r></m:sup><m:e><m:r><m:t>i</m:t></m:r></m:e></m:nary></m:oMath>",
                "∑_(i=1)^n i",
            ),
            ("<m:oMath><m:rad><m:deg/><m:e><m:r><m:t>x+1</m:t></m:r></m:e></m:rad></m:oMath>", "√(x+1)"),
        ] {
            assert_eq!(read(xml), text, "{xml}");
        }
        let deep = format!("<math>{}x{}</math>", "<mrow><mi>a</mi>".repeat(5000), "</mrow>".repeat(5000));
        assert_eq!(read(&deep).replace(' ', "").len(), 5001);
    }
}
