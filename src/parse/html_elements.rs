//! The elements of HTML, by what they do to a text.

/// The effect of an element on the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ElementKind {
    /// It is not displayed.
    Hidden,
    /// It leads through the pages of a site.
    Navigation,
    /// It is beside the main part of a page, unless it is in that: an aside, a header, a footer.
    Margin,
    /// It is displayed, and no part of the text but in a heading.
    Button,
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
    Raised,
    Math,
    /// It is within a paragraph, and may be hidden with all that is in it.
    Span,
    /// It is within a paragraph.
    Inline,
}

/// The kind of an element, by its name in lower case.
pub(super) fn kind_of(name: &[u8]) -> ElementKind {
    use ElementKind::{
        Article, Block, Button, Cell, Heading, Hidden, Image, Inline, Item, LineBreak, List, Main, Margin,
        Math, Navigation, Paragraph, Preformatted, Raised, Row, Span,
    };
    match name {
        b"script" | b"style" | b"noscript" | b"template" | b"svg" | b"iframe" | b"object" | b"canvas"
        | b"select" | b"datalist" | b"audio" | b"video" | b"title" | b"rp" => Hidden,
        b"nav" => Navigation,
        b"aside" | b"footer" | b"header" => Margin,
        b"button" => Button,
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
        b"sup" => Raised,
        b"math" => Math,
        b"span" | b"a" => Span,
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
        use ElementKind::{Cell, Image, Inline, Item, LineBreak, Math, Paragraph, Raised, Row, Span};
        !matches!(self, Item | Row | Cell | Paragraph | LineBreak | Image | Math | Raised | Span | Inline)
    }

    /// Whether a paragraph ends before it.
    pub(super) fn is_block(self) -> bool {
        use ElementKind::{Button, Cell, Hidden, Image, Inline, Item, LineBreak, Math, Raised, Row, Span};
        !matches!(
            self,
            Hidden | Button | Item | Row | Cell | LineBreak | Image | Math | Raised | Span | Inline
        )
    }

    /// Whether its attributes may hide it, or say that it is not of the main part.
    pub(super) fn may_be_marked(self) -> bool {
        use ElementKind::{Block, List, Margin, Span};
        matches!(self, Block | List { .. } | Margin | Span)
    }
}
