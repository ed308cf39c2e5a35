//! rsv-parse: office documents as word processors write them, each kind of them made here.

use crate::parse::{node, parsed, uris};
use crate::parse_files::zip;
use crate::support::{Home, text};
use serde_json::json;

const W: &str = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main' \
                 xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math'";

/// A docx of this body, with other members.
fn docx(body: &str, others: &[(&str, &str)]) -> Vec<u8> {
    let document = format!("<w:document {W}><w:body>{body}</w:body></w:document>");
    let mut members = vec![("word/document.xml", document.as_bytes())];
    members.extend(others.iter().map(|(name, content)| (*name, content.as_bytes())));
    zip(&members)
}

/// An odt of this body and these styles.
fn odt(styles: &str, body: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b' xmlns:style='s' xmlns:draw='d' \
         xmlns:xlink='x' xmlns:svg='v'><office:automatic-styles>{styles}</office:automatic-styles>\
         <office:body><office:text>{body}</office:text></office:body></office:document-content>"
    );
    let manifest = "<manifest:manifest xmlns:manifest='m'><manifest:file-entry manifest:full-path='/' \
                    manifest:media-type='application/vnd.oasis.opendocument.text'/></manifest:manifest>";
    let formula = "<math xmlns='http://www.w3.org/1998/Math/MathML'><semantics><mfrac><mi>a</mi><mrow><mi>b</mi>\
                   <mo>+</mo><mn>1</mn></mrow></mfrac><annotation>{a} over {b+1}</annotation></semantics></math>";
    zip(&[
        ("content.xml", content.as_bytes()),
        ("META-INF/manifest.xml", manifest.as_bytes()),
        ("Object 1/content.xml", formula.as_bytes()),
    ])
}

/// The content of a file that is one node.
fn content(home: &Home, name: &str, bytes: &[u8]) -> String {
    std::fs::write(home.path(name), bytes).unwrap();
    let (nodes, _) = parsed(home, name, &[]);
    assert_eq!(uris(&nodes), [""], "{name}");
    text(&nodes[0]["content"])
}

/// A paragraph of Word.
fn p(properties: &str, words: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space='preserve'>{words}</w:t></w:r></w:p>")
}

/// Keeps: Words of a document stay apart.
#[test]
fn notes_tables_and_text_boxes_of_word_stay_apart_from_the_words_around_them() {
    let home = Home::new();
    let cell = |words: &str| format!("<w:tc>{}</w:tc>", p("", words));
    let inner = format!(
        "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
        cell("Plum"),
        cell("North"),
        cell("Fig"),
        cell("South")
    );
    let note = "<w:r><w:footnoteReference w:id='2'/></w:r>";
    let shape = "<w:r><w:AlternateContent><w:Choice><w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p>\
                 </w:txbxContent></w:Choice><w:Fallback><w:p><w:r><w:t>Twice</w:t></w:r></w:p></w:Fallback></w:AlternateContent></w:r>";
    let body = [
        format!("<w:p><w:r><w:t>Figs need sun</w:t></w:r>{note}<w:r><w:t>, and{}</w:t></w:r>{shape}<w:r><w:t> a wall.</w:t></w:r></w:p>", ""),
        p("<w:framePr w:dropCap='drop'/>", "O"),
        p("", "nce there was a garden."),
        format!("<w:tbl><w:tr>{}<w:tc>{inner}<w:p/></w:tc></w:tr><w:tr>{}{}</w:tr></w:tbl>", cell("Trees"), cell(""), cell("Last")),
        "<w:p><w:r><w:tab/><w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>6</w:t></w:r>\
         <w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t> seeds</w:t></w:r></w:p>"
            .to_owned(),
    ];
    let notes = format!(
        "<w:footnotes {W}><w:footnote w:type='separator' w:id='0'><w:p/></w:footnote><w:footnote w:id='2'>{}</w:footnote></w:footnotes>",
        p("", "In the south.")
    );
    assert_eq!(
        content(&home, "a.docx", &docx(&body.concat(), &[("word/footnotes.xml", &notes)])),
        "Figs need sun[^1], and a wall.\n\n[^1]: In the south.\n\nIn a box.\n\nOnce there was a garden.\n\n\
         Trees | Plum, North Fig, South\n\nLast\n\n10^6 seeds"
    );
}

/// Keeps: Equations are text.
#[test]
fn equations_of_word_and_libreoffice_are_text() {
    let home = Home::new();
    let run = |text: &str| format!("<m:r><m:t>{text}</m:t></m:r>");
    let equation = format!(
        "<w:p><w:r><w:t>The area is</w:t></w:r><m:oMath>{}<m:sSup><m:e>{}</m:e><m:sup>{}</m:sup></m:sSup></m:oMath></w:p>",
        run("A=π"),
        run("r"),
        run("2")
    );
    assert_eq!(content(&home, "a.docx", &docx(&equation, &[])), "The area is A=πr^2");
    let object = "<text:p>Here<draw:frame><draw:object xlink:href='./Object 1'/></draw:frame> is <draw:frame><draw:object xlink:href='./Object 1'/></draw:frame> it,<text:s/> yes.</text:p>";
    assert_eq!(content(&home, "a.odt", &odt("", object)), "Here a/(b+1) is a/(b+1) it, yes.");
}

/// Keeps: Lists keep their numbers.
#[test]
fn lists_keep_their_numbers() {
    let home = Home::new();
    let item = |level: usize, list: usize, words: &str| {
        p(&format!("<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{list}'/></w:numPr>"), words)
    };
    let numbering = format!(
        "<w:numbering {W}><w:abstractNum w:abstractNumId='7'>\
         <w:lvl w:ilvl='0'><w:start w:val='3'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl>\
         <w:lvl w:ilvl='1'><w:numFmt w:val='lowerLetter'/><w:lvlText w:val='(%2)'/></w:lvl></w:abstractNum>\
         <w:abstractNum w:abstractNumId='8'><w:lvl w:ilvl='0'><w:numFmt w:val='bullet'/></w:lvl>\
         <w:lvl w:ilvl='1'><w:numFmt w:val='bullet'/><w:lvlText w:val=' '/></w:lvl></w:abstractNum>\
         <w:abstractNum w:abstractNumId='9'><w:lvl w:ilvl='0'><w:pStyle w:val='H'/><w:numFmt w:val='decimal'/><w:lvlText w:val='§ %1'/></w:lvl></w:abstractNum>\
         <w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num><w:num w:numId='2'><w:abstractNumId w:val='8'/></w:num>\
         <w:num w:numId='3'><w:abstractNumId w:val='9'/></w:num></w:numbering>"
    );
    let styles = format!(
        "<w:styles {W}><w:style w:styleId='H'><w:name w:val='heading 1'/><w:pPr><w:numPr><w:numId w:val='3'/></w:numPr></w:pPr></w:style></w:styles>"
    );
    let body = [
        p("<w:pStyle w:val='H'/>", "Sowing"),
        item(0, 1, "Soak"),
        item(1, 1, "beans"),
        item(1, 1, "peas"),
        item(0, 1, "Sow"),
        item(0, 2, "Water"),
        item(1, 2, "every day."),
        p("<w:pStyle w:val='H'/>", "Harvest"),
    ];
    let others = [("word/numbering.xml", &*numbering), ("word/styles.xml", &*styles)];
    assert_eq!(
        content(&home, "a.docx", &docx(&body.concat(), &others)),
        "# § 1 Sowing\n\n3. Soak\n  (a) beans\n  (b) peas\n4. Sow\n- Water\n\nevery day.\n\n# § 2 Harvest"
    );
    let styles = "<text:list-style style:name='L'><text:list-level-style-number text:level='1' style:num-format='1' style:num-suffix=')'/>\
                  <text:list-level-style-number text:level='2' text:display-levels='2' style:num-format='1'/></text:list-style>";
    let item = |words: &str| format!("<text:list-item><text:p>{words}</text:p></text:list-item>");
    let inner = format!(
        "<text:list-item><text:p>Sow</text:p><text:list>{}</text:list></text:list-item>",
        item("beans")
    );
    let body =
        format!("<text:list text:style-name='L'>{}{inner}</text:list><text:p>End.</text:p>", item("Soak"));
    assert_eq!(content(&home, "a.odt", &odt(styles, &body)), "1) Soak\n2) Sow\n  2.1 beans\n\nEnd.");
    // A level without a definition has the numbers of the one above.
    let styles = "<text:list-style style:name='L'><text:list-level-style-number text:level='1' style:num-format='1' style:num-suffix='.'/></text:list-style>";
    assert_eq!(content(&home, "b.odt", &odt(styles, &body)), "1. Soak\n2. Sow\n  1. beans\n\nEnd.");
}

#[test]
fn notes_boxes_and_blanks_of_libreoffice_stay_apart() {
    let home = Home::new();
    let body = "<text:p>Figs need sun<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>And \
                water.</text:p></text:note-body></text:note> in\n   the<text:s text:c='3'/>south<text:line-break/>and west.\
                <draw:custom-shape><text:p>A shape.</text:p></draw:custom-shape></text:p>\
                <table:table><table:table-row><table:table-cell><text:p>One</text:p><text:p>more</text:p></table:table-cell>\
                <table:table-cell/><table:table-cell><text:p>two</text:p></table:table-cell></table:table-row></table:table>\
                <text:p>10<text:span text:style-name='S'>6</text:span> and 1<text:span text:style-name='S'>st</text:span></text:p>";
    let styles =
        "<style:style style:name='S'><style:text-properties style:text-position='super 58%'/></style:style>";
    assert_eq!(
        content(&home, "a.odt", &odt(styles, body)),
        "Figs need sun[^1] in the south\nand west.\n\n[^1]: And water.\n\nA shape.\n\nOne more |  | two\n\n10^6 and 1st"
    );
}

/// Keeps: The content tells the format where it can.
#[test]
fn the_main_part_has_any_name_and_the_mark_of_odt_any_place() {
    let home = Home::new();
    let relation = "<Relationships><Relationship Id='r' Type='http://x/officeDocument' Target='/text/first.xml'/></Relationships>";
    let types = "<Types><Override PartName='/text/first.xml' ContentType='application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'/></Types>";
    let document =
        format!("<x:document {}><x:p><x:r><x:t>Figs.</x:t></x:r></x:p></x:document>", W.replace("w=", "x="));
    let members: [(&str, &[u8]); 3] = [
        ("_rels/.rels", relation.as_bytes()),
        ("[Content_Types].xml", types.as_bytes()),
        ("text/first.xml", document.as_bytes()),
    ];
    assert_eq!(content(&home, "a", &zip(&members)), "Figs.");
    let odt = zip(&[
        ("content.xml", b"<a><text:p>Plums.</text:p></a>"),
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
    ]);
    assert_eq!(content(&home, "b", &odt), "Plums.");
}

/// Keeps: Lists keep their numbers.
#[test]
fn lists_of_slides_keep_their_numbers() {
    let home = Home::new();
    let item = |level: usize, numbers: &str, words: &str| {
        format!("<a:p><a:pPr lvl='{level}'>{numbers}</a:pPr><a:r><a:t>{words}</a:t></a:r></a:p>")
    };
    let (digits, letters) = ("<a:buAutoNum type='arabicPeriod'/>", "<a:buAutoNum type='alphaLcParenBoth'/>");
    let from_5 = "<a:buAutoNum type='arabicParenR' startAt='5'/>";
    let body = [
        item(0, digits, "Soak"),
        item(0, digits, "Sow"),
        item(1, letters, "beans"),
        item(1, letters, "peas"),
        item(0, digits, "Water"),
        item(0, "<a:buChar char='•'/>", "Wait"),
        item(0, digits, "Pick"),
        item(0, from_5, "Cook"),
        item(0, from_5, "Eat"),
    ];
    let slide = format!("<p:sld xmlns:p='p' xmlns:a='a'><p:sp>{}</p:sp></p:sld>", body.concat());
    let main = "<p:presentation xmlns:p='p' xmlns:r='r'><p:sldId id='8' r:id='a'/></p:presentation>";
    let types = "<Types><Override PartName='/ppt/presentation.xml' ContentType='x.presentationml.presentation.main+xml'/></Types>";
    let relation = "<Relationships><Relationship Id='m' Type='http://x/officeDocument' Target='ppt/presentation.xml'/></Relationships>";
    let slides =
        "<Relationships><Relationship Id='a' Type='http://x/slide' Target='slides/s1.xml'/></Relationships>";
    let members: [(&str, &[u8]); 5] = [
        ("_rels/.rels", relation.as_bytes()),
        ("ppt/presentation.xml", main.as_bytes()),
        ("[Content_Types].xml", types.as_bytes()),
        ("ppt/_rels/presentation.xml.rels", slides.as_bytes()),
        ("ppt/slides/s1.xml", slide.as_bytes()),
    ];
    assert_eq!(
        content(&home, "a.pptx", &zip(&members)),
        "## Slide 1\n\n1. Soak\n2. Sow\n  (a) beans\n  (b) peas\n3. Water\n\nWait\n\n1. Pick\n5) Cook\n6) Eat"
    );
}

/// Keeps: No input exhausts the memory.
#[test]
fn references_to_one_long_note_end_at_a_bound() {
    let home = Home::new();
    let note = format!(
        "<w:footnotes {W}><w:footnote w:id='2'>{}</w:footnote></w:footnotes>",
        p("", &"figs ".repeat(40_000))
    );
    let body = format!("<w:p>{}</w:p>", "<w:r><w:footnoteReference w:id='2'/></w:r>".repeat(2_000));
    std::fs::write(home.path("a.docx"), docx(&body, &[("word/footnotes.xml", &note)])).unwrap();
    let out = home.run("rsv-parse", &["a.docx"], "");
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("it unpacks to more than 64 MiB"), "{}", out.stderr);
}

#[test]
fn slides_and_sheets_are_read() {
    let home = Home::new();
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id='{id}' Type='http://x/{kind}' Target='{target}'/>")
    };
    let relations = |all: &str| format!("<Relationships>{all}</Relationships>");
    let shape = |kind: &str, words: &str| {
        format!(
            "<p:sp><p:nvPr><p:ph type='{kind}'/></p:nvPr><p:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    let slide = |shapes: &str| format!("<p:sld xmlns:p='p' xmlns:a='a' xmlns:r='r'>{shapes}</p:sld>");
    let (first, second) = (
        slide(&(shape("body", "Peas climb.") + &shape("title", "Spring") + &shape("sldNum", "1"))),
        slide(&shape("body", "Dig.")),
    );
    let notes = slide(&(shape("body", "Say it slowly.") + &shape("sldNum", "1")));
    let main = "<p:presentation xmlns:p='p' xmlns:r='r'><p:sldId id='9' r:id='b'/><p:sldId id='8' r:id='a'/></p:presentation>";
    let members = [
        ("_rels/.rels", relations(&relation("m", "officeDocument", "ppt/presentation.xml"))),
        ("ppt/presentation.xml", main.to_owned()),
        ("[Content_Types].xml", "<Types><Override PartName='/ppt/presentation.xml' ContentType='x.presentationml.presentation.main+xml'/></Types>".to_owned()),
        ("ppt/_rels/presentation.xml.rels", relations(&(relation("a", "slide", "slides/s2.xml") + &relation("b", "slide", "slides/s1.xml")))),
        ("ppt/slides/s1.xml", first),
        ("ppt/slides/_rels/s1.xml.rels", relations(&relation("n", "notesSlide", "../notes.xml"))),
        ("ppt/notes.xml", notes),
        ("ppt/slides/s2.xml", second),
    ];
    let members: Vec<(&str, &[u8])> = members.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    assert_eq!(
        content(&home, "a.pptx", &zip(&members)),
        "## Spring\n\nPeas climb.\n\nSay it slowly.\n\n## Slide 2\n\nDig."
    );
    let sheet = "<worksheet><sheetData><row><c r='A1' t='s'><v>0</v></c><c r='B1' t='inlineStr'><is><t>Sown</t></is></c></row>\
                 <row><c r='A2' t='str'><f>x</f><v>Beans</v></c><c r='C2' s='1'><v>45432.5</v></c><c r='D2'><v>0.30000000000000004</v></c></row>\
                 <row><c r='A3' s='2'><v>7</v></c></row></sheetData></worksheet>";
    let members = [
        ("_rels/.rels", relations(&relation("m", "officeDocument", "xl/workbook.xml"))),
        ("xl/workbook.xml", "<workbook xmlns:r='r'><sheet name='Crops' sheetId='1' r:id='a'/></workbook>".to_owned()),
        ("[Content_Types].xml", "<Types><Override PartName='/xl/workbook.xml' ContentType='x.spreadsheetml.sheet.main+xml'/></Types>".to_owned()),
        ("xl/_rels/workbook.xml.rels", relations(&relation("a", "worksheet", "worksheets/sheet1.xml"))),
        ("xl/sharedStrings.xml", "<sst><si><r><t>Cr</t></r><r><t>op</t></r><rPh><t>no</t></rPh></si></sst>".to_owned()),
        ("xl/styles.xml", "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='yyyy/mm/dd'/></numFmts><cellStyleXfs><xf/></cellStyleXfs><cellXfs><xf numFmtId='0'/><xf numFmtId='170'/><xf numFmtId='2'/></cellXfs></styleSheet>".to_owned()),
        ("xl/worksheets/sheet1.xml", sheet.to_owned()),
    ];
    let members: Vec<(&str, &[u8])> = members.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    assert_eq!(
        content(&home, "a.xlsx", &zip(&members)),
        "# Crops\n\nCrop | Sown\nBeans |  | 2024-05-20 12:00:00 | 0.3\n7"
    );
    assert_eq!(node(&parsed(&home, "a.xlsx", &[]).0, "")["title"], json!("a.xlsx"));
}

/// Keeps: Words of a document stay apart.
#[test]
fn documents_nested_without_end_are_read() {
    let home = Home::new();
    let (open, close) = ("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>");
    let body = format!("{}{}{}", open.repeat(20_000), p("", "Deep."), close.repeat(20_000));
    assert_eq!(content(&home, "deep.docx", &docx(&body, &[])), "Deep.");
    let (open, close) = ("<m:sSup><m:e>", "</m:e></m:sSup>");
    let body = format!(
        "<w:p><m:oMath>{}<m:r><m:t>x</m:t></m:r>{}</m:oMath></w:p>",
        open.repeat(20_000),
        close.repeat(20_000)
    );
    assert_eq!(content(&home, "deep2.docx", &docx(&body, &[])), "x");
}
