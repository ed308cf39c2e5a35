//! The elements of HTML, by what they do to a text.

/// The effect of an element on the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ElementKind {
    /// It is not displayed.
    Skipped,
    Main,
    Article,
    Heading(u8),
    List {
        numbered: bool,
    },
    Item,
    Preformatted,
    Row,
    Cell,
    /// Another element that begins a paragraph, and need not be closed.
    Paragraph,
    /// Another element that begins and ends a paragraph.
    Block,
    LineBreak,
    Image,
    /// It is within a paragraph.
    Inline,
}

/// The kind of an element, by its name in lower case.
pub(super) fn kind_of(name: &[u8]) -> ElementKind {
    use ElementKind::{
        Article, Block, Cell, Heading, Image, Inline, Item, LineBreak, List, Main, Paragraph, Preformatted,
        Row, Skipped,
    };
    match name {
        b"script" | b"style" | b"noscript" | b"template" | b"nav" | b"aside" | b"footer" | b"header"
        | b"svg" | b"iframe" | b"object" | b"canvas" | b"select" | b"button" | b"datalist" | b"audio"
        | b"video" | b"title" => Skipped,
        b"main" => Main,
        b"article" => Article,
        b"h1" => Heading(1),
        b"h2" => Heading(2),
        b"h3" => Heading(3),
        b"h4" => Heading(4),
        b"h5" => Heading(5),
        b"h6" => Heading(6),
        b"ul" | b"menu" => List { numbered: false },
        b"ol" => List { numbered: true },
        b"li" => Item,
        b"pre" | b"textarea" => Preformatted,
        b"tr" => Row,
        b"td" | b"th" => Cell,
        b"br" => LineBreak,
        b"img" => Image,
        b"html" | b"body" | b"p" | b"dt" | b"dd" | b"hr" => Paragraph,
        b"div" | b"section" | b"blockquote" | b"table" | b"thead" | b"tbody" | b"tfoot" | b"dl"
        | b"figure" | b"figcaption" | b"details" | b"summary" | b"form" | b"fieldset" | b"legend"
        | b"address" | b"caption" | b"center" | b"dialog" | b"hgroup" => Block,
        _ => Inline,
    }
}

impl ElementKind {
    /// Whether its end matters.
    pub(super) fn is_tracked(self) -> bool {
        use ElementKind::{Cell, Image, Inline, Item, LineBreak, Paragraph, Row};
        !matches!(self, Item | Row | Cell | Paragraph | LineBreak | Image | Inline)
    }

    /// Whether a paragraph ends before it.
    pub(super) fn is_block(self) -> bool {
        use ElementKind::{Cell, Image, Inline, Item, LineBreak, Row, Skipped};
        !matches!(self, Skipped | Item | Row | Cell | LineBreak | Image | Inline)
    }

    /// Whether its attributes may hide it.
    pub(super) fn may_be_skipped(self) -> bool {
        use ElementKind::{Block, List};
        matches!(self, Block | List { .. })
    }
}
