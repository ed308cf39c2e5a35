//! Start tags of HTML: their attributes, and what these say of the place of an element.

use super::html_elements::ElementKind;

/// The place of an element's text in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Text,
    /// It is not displayed, or is a button.
    Hidden,
    Navigation,
    /// Beside the main part, unless it is in that.
    Margin,
}

/// A start tag, as far as it is read.
#[derive(Default)]
pub(super) struct StartTag {
    pub(super) name: Vec<u8>,
    pub(super) attribute: Vec<u8>,
    pub(super) attributes: Vec<(Vec<u8>, String)>,
}

impl StartTag {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| *known == name.as_bytes()).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.trim().parse().ok()
    }

    /// Whether its text is the mark of a note.
    pub(super) fn is_note_mark(&self) -> bool {
        let has = |name: &str, mark: &str| {
            self.attribute(name).is_some_and(|value| value.split_whitespace().any(|word| word == mark))
        };
        has("epub:type", "noteref") || has("role", "doc-noteref")
    }

    /// The number of the first item of a list.
    pub(super) fn list_start(&self) -> usize {
        self.number("start").unwrap_or(1).max(1)
    }

    /// The place that its attributes say.
    pub(super) fn place(&self, kind: ElementKind) -> Option<Place> {
        const NAVIGATION_ROLES: [&str; 2] = ["navigation", "search"];
        const MARGIN_ROLES: [&str; 3] = ["banner", "contentinfo", "complementary"];
        const NAVIGATION: [&str; 10] = [
            "nav",
            "navbar",
            "navigation",
            "menu",
            "breadcrumb",
            "breadcrumbs",
            "cookie-banner",
            "toc",
            "skip-link",
            "pagination",
        ];
        const MARGINS: [&str; 4] = ["sidebar", "footer", "site-header", "site-footer"];
        // The sign beside a heading that leads to it, and the second form of an equation.
        const HIDDEN_SPANS: [&str; 3] = ["headerlink", "katex-html", "MJX_Assistive_MathML"];
        let role = self.attribute("role").unwrap_or_default();
        let names = || {
            let names = [self.attribute("class"), self.attribute("id")];
            names.into_iter().flatten().flat_map(str::split_whitespace)
        };
        let has = |classes: &[&str]| {
            names().any(|name| classes.iter().any(|class| class.eq_ignore_ascii_case(name)))
        };
        if !kind.may_be_marked() {
            return None;
        }
        let style = self.attribute("style").unwrap_or_default();
        let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
        let is_hidden = self.attribute("hidden").is_some() || style.contains("display:none");
        if kind == ElementKind::Span {
            return (is_hidden || has(&HIDDEN_SPANS)).then_some(Place::Hidden);
        }
        if is_hidden {
            Some(Place::Hidden)
        } else if NAVIGATION_ROLES.contains(&role) || has(&NAVIGATION) {
            Some(Place::Navigation)
        } else if MARGIN_ROLES.contains(&role) || has(&MARGINS) {
            Some(Place::Margin)
        } else {
            None
        }
    }
}
