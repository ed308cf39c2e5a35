//! rsv-parse: pages of the web and books, and which part of them is the text.

use crate::parse::{parsed, uris};
use crate::parse_files::zip;
use crate::support::{Home, text};

/// The title and the content of a page.
fn page(html: &str) -> (String, String) {
    let home = Home::new();
    home.write("page.html", html);
    let (nodes, _) = parsed(&home, "page.html", &[]);
    assert_eq!(uris(&nodes), [""], "{html}");
    (text(&nodes[0]["title"]), nodes[0]["content"].as_str().unwrap_or_default().to_owned())
}

/// Keeps: The main part of a page is read, with everything in it.
#[test]
fn notes_asides_and_footers_of_the_main_part_are_of_it() {
    let inside = "<h1>Beans</h1><p>Sow in May.<aside><p>Frost kills them.</aside><section><header><h2>Pests</h2></header>\
                  <p>Snails.<footer><p>Source: the almanac.</footer></section><nav>Next page</nav><p class='note'>Dig.";
    let wanted =
        "# Beans\n\nSow in May.\n\nFrost kills them.\n\n## Pests\n\nSnails.\n\nSource: the almanac.\n\nDig.";
    let around = |inside: &str| {
        format!(
            "<body><header>Logo</header><nav>Home</nav>{inside}<aside>Ads</aside><footer>Imprint</footer></body>"
        )
    };
    for (begin, end) in [("<main>", "</main>"), ("<article>", "</article>"), ("<div role=main>", "</div>")] {
        assert_eq!(page(&around(&format!("{begin}{inside}{end}"))).1, wanted, "{begin}");
    }
    // Where neither says what is the main part, an aside is beside it.
    assert_eq!(page(&around("<p>Sow in May.")).1, "Sow in May.");
}

#[test]
fn a_story_beside_teasers_is_the_text() {
    let story =
        "<div><h1>Real story</h1><p>".to_owned() + &"The long real story about plums. ".repeat(20) + "</div>";
    let (_, content) =
        page(&format!("<article><p>Teaser one.</article>{story}<article><p>Teaser two.</article>"));
    assert!(content.contains("long real story"), "{content}");
    // Articles with most of the words are the text.
    let (_, content) = page(&format!("<div>Related: figs</div><article>{story}</article>"));
    assert!(content.starts_with("# Real story") && !content.contains("Related"), "{content}");
}

#[test]
fn titles_have_two_lines_and_stand_in_headers() {
    for (html, title, content) in [
        ("<h1>Beans<br>and peas</h1><p>Sow.", "Beans and peas", "# Beans and peas\n\nSow."),
        ("<h1><div>Beans</div><div>and peas</div></h1><p>Sow.", "Beans and peas", "# Beans and peas\n\nSow."),
        ("<h2><button>Beans</button></h2><p>Sow.<button>Buy</button>", "Beans", "## Beans\n\nSow."),
        ("<header><h1>Beans</h1>Logo</header><main><p>Sow.</main>", "Beans", "# Beans\n\nSow."),
        ("<header><h1>Garden</h1></header><main><h1>Beans</h1><p>Sow.</main>", "Beans", "# Beans\n\nSow."),
        ("<h1>Beans<a class=headerlink href='#b'>¶</a></h1><p>Sow.", "Beans", "# Beans\n\nSow."),
    ] {
        assert_eq!(page(html), (title.to_owned(), content.to_owned()), "{html}");
    }
    // A heading that does not end is one no longer than headings are.
    let (title, content) = page(&format!("<h1>Beans{}", "<p>Sow them in the warm ground of May.".repeat(40)));
    assert!(title.starts_with("Beans") && content.contains("\n\n"), "{content}");
}

#[test]
fn a_page_of_nothing_but_navigation_is_read() {
    assert_eq!(page("<nav><ul><li>Plums<li>Figs</ul></nav>").1, "- Plums\n- Figs");
    assert_eq!(page("<header>Plums</header><footer>Figs</footer>").1, "Plums\n\nFigs");
}

#[test]
fn equations_exponents_and_numbers_of_pages_are_text() {
    let katex = "<span class=katex><span class=katex-mathml><math><semantics><mfrac><mi>a</mi><mn>2</mn></mfrac>\
                 <annotation>\\frac{a}{2}</annotation></semantics></math></span><span class=katex-html aria-hidden=true><span>a</span>2</span></span>";
    let (_, content) = page(&format!(
        "<p>Half is {katex}, 10<sup>6</sup> seeds<sup><a href='#1'>1</a></sup> on the 1<sup>st</sup> of H<sub>2</sub>O.\
         <ol start=3><li>three<li>four<li value=9>nine</ol><p hidden>no<p style='display: none'>no<div style='display:none'>no</div>"
    ));
    assert_eq!(
        content,
        "Half is a/2, 10^6 seeds^1 on the 1st of H2O.\n\n3. three\n4. four\n9. nine\n\nno\n\nno"
    );
}

#[test]
fn pages_that_are_not_well_formed_are_read() {
    for (html, content) in [
        ("<h1><div class=nav></div></h1>éééé", "éééé"),
        ("<h1><div class=sidebar></div></h1>éééé", "éééé"),
        ("<p>x <math><mi>y</mi><p>rest of page", "x y\n\nrest of page"),
        ("<p>x <math><mi>y</mi><h2>Rest</h2>of page</math>", "x y\n\n## Rest\n\nof page"),
        ("<p>x <math><mi>y</mi>", "x y"),
        (
            "<ol start=18446744073709551615><li>a<li>b</ol>",
            "18446744073709551615. a\n18446744073709551615. b",
        ),
        ("<p>Figs<a epub:type=noteref href='#n'>1</a> and x<a role=doc-noteref>2</a>", "Figs^1 and x^2"),
    ] {
        assert_eq!(page(html).1, content, "{html}");
    }
}

#[test]
fn chapters_of_a_book_are_read_in_order() {
    let home = Home::new();
    let package = "<package xmlns:dc='d'><metadata><dc:title>Gardens</dc:title></metadata><manifest>\
                   <item id='b' href='b.xhtml' media-type='application/xhtml+xml'/><item id='a' href='t/a%20b.xhtml' media-type='application/xhtml+xml'/>\
                   </manifest><spine><itemref idref='b'/><itemref idref='a'/></spine></package>";
    let book = zip(&[
        ("META-INF/container.xml", b"<container><rootfile full-path='o/p.opf'/></container>"),
        ("o/p.opf", package.as_bytes()),
        ("o/b.xhtml", b"<html><head><title/></head><body><header><h1>One</h1></header><p>First.</p><aside epub:type='footnote'><p>A note.</p></aside></body></html>"),
        ("o/t/a b.xhtml", b"<html><body><section><h1>Two</h1><p>Second.</p></section></body></html>"),
    ]);
    std::fs::write(home.path("book.epub"), book).unwrap();
    let (nodes, _) = parsed(&home, "book.epub", &[]);
    assert_eq!(
        (text(&nodes[0]["title"]), text(&nodes[0]["content"])),
        ("Gardens".to_owned(), "# One\n\nFirst.\n\nA note.\n\n# Two\n\nSecond.".to_owned())
    );
}
