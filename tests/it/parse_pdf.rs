//! rsv-parse: the words of PDFs as the programs that people use write them.

use crate::docs::root;
use crate::support::Home;
use std::fmt::Write as _;
use std::io::Write as _;

/// A PDF of such objects, of which the first is the catalog.
pub(crate) fn file(objects: &[String]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(file.len());
        write!(file, "{} 0 obj\n{object}\nendobj\n", at + 1).unwrap();
    }
    let table = file.len();
    write!(file, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).unwrap();
    for place in places {
        writeln!(file, "{place:010} 00000 n ").unwrap();
    }
    write!(file, "trailer<</Size {}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1).unwrap();
    file
}

fn stream(content: &str) -> String {
    format!("<</Length {}>>stream\n{content}\nendstream", content.len())
}

/// A PDF with pages of such contents, and the fonts F1, Helvetica, and F2, which is the first of the other objects; they
/// are numbered from 4 on.
fn document(pages: &[String], others: &[String]) -> Vec<u8> {
    let first = 4 + others.len();
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", first + 2 * page)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!(
            "<</Type/Pages/Count {}/Kids[{}]/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>>>",
            pages.len(),
            kids.join(" ")
        ),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    objects.extend_from_slice(others);
    for (page, content) in pages.iter().enumerate() {
        objects.push(format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R>>", first + 2 * page + 1));
        objects.push(stream(content));
    }
    file(&objects)
}

/// A composite font whose codes are numbers of glyphs, of such widths, with a table from them to Unicode.
fn composite(widths: &str, to_unicode: &str) -> Vec<String> {
    let table = format!(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def \
         1 begincodespacerange <0000> <FFFF> endcodespacerange {to_unicode} endcmap end end"
    );
    vec![
        "<</Type/Font/Subtype/Type0/BaseFont/Word/Encoding/Identity-H/DescendantFonts[5 0 R]/ToUnicode 6 0 R>>".to_owned(),
        format!(
            "<</Type/Font/Subtype/CIDFontType2/BaseFont/Word/DW 1000/W[{widths}]\
             /CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>"
        ),
        stream(&table),
    ]
}

/// The text that is read of such a PDF.
fn text(pdf: &[u8]) -> String {
    let home = Home::new();
    std::fs::write(home.path("x.pdf"), pdf).unwrap();
    let ran = home.run("rsv-parse", &["--text", "x.pdf"], "");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran}");
    ran.stdout
}

fn text_of_fixture(name: &str) -> String {
    text(&std::fs::read(root().join("tests/it/pdf").join(name)).unwrap())
}

/// Words at a place of a page.
fn at(x: f64, y: f64, words: &str) -> String {
    format!("BT /F1 10 Tf {x} {y} Td ({words}) Tj ET\n")
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn a_paper_of_latex_is_read_column_by_column() {
    assert_eq!(
        text_of_fixture("almanac.pdf"),
        "The orchard almanac\n\
         \n\
         1 Quinces\n\
         \n\
         The quinces ripen late, and an efficient gardener\n\
         waffles no further 1: they are picked before the\n\
         first frost, wrapped in paper, and stored where\n\
         the temperature remains between four and six degrees.\n\
         Undisturbed, they keep until February; a\n\
         well-known trick is to lay them on straw. The café\n\
         of Grünau serves them with crème fraîche. Another\n\
         well-known saying has it that unquestionably impatient\n\
         neighbours come first.\n\
         \n\
         1 Nor does a beekeeper.\n\
         \n\
         2 Medlars\n\
         \n\
         Medlars are eaten when they look rotten. Bletting,\n\
         as this overripening is called, sweetens them\n\
         considerably, and a jelly of medlars accompanies\n\
         cheese. Their flowers open in May, and bees appreciate\n\
         them.\n\
         \u{c}3 Sloes\n\
         \n\
         Sloes want a frost before they are picked for gin.\n\
         The hedges are cut after the harvest.\n\
         \u{c}4 Mulberries\n\
         \n\
         Mulberries stain everything. Spread a sheet below\n\
         the tree, and shake its branches in the morning.\n\
         \u{c}"
    );
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn scripts_from_right_to_left_are_read_from_the_right() {
    assert_eq!(
        text_of_fixture("gardens.pdf"),
        "GARDENS\n\
         \n\
         הגן שלנו נמצא ליד הבית ובו 25 עצים. בשנת 2024\n\
         שתלנו Rosemary ומרווה (ליד השער) בצד הדרומי\n\
         של הבית. הקיץ היה חם מאוד ולכן השקינו את\n\
         הירקות בערב.\n\
         الحديقة قريبة من البيت وفيها 12 شجرة. في الصيف\n\
         نسقي الخضروات في المساء، والأزهار في الصباح.\n\
         المشكلات قليلة والإنتاج كثير.\n\
         \u{c}"
    );
    // Whether the file has the first letter first, or the leftmost one.
    let font = composite("1 [500 500 500 500]", "1 beginbfrange <0001> <0004> <05D0> endbfrange");
    let letters = [(1, 100), (2, 95), (3, 90), (4, 85)];
    let words = |order: &mut dyn Iterator<Item = &(i32, i32)>| {
        let mut page = String::new();
        for (glyph, x) in order {
            writeln!(page, "BT /F2 10 Tf {x} 700 Td <{glyph:04x}> Tj ET").unwrap();
        }
        text(&document(&[page], &font))
    };
    assert_eq!(words(&mut letters.iter()), "אבגד\n\u{c}");
    assert_eq!(words(&mut letters.iter().rev()), "אבגד\n\u{c}");
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn a_letter_of_libreoffice_keeps_the_rows_of_its_table() {
    assert_eq!(
        text_of_fixture("order.pdf"),
        "Seeds for the allotment\n\
         \n\
         Dear Ms Größe, please send the following to the allotment office; the efficient\n\
         supplier of last year has closed, and nobody else delivers salsify.\n\
         Seed Bags Price\n\
         Runner beans 4 12.50\n\
         Black salsify 2 7.25\n\
         Yours sincerely, Łukasz Žižka\n\
         \u{c}"
    );
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn rotated_and_mirrored_words_of_cairo_are_whole() {
    assert_eq!(
        text_of_fixture("poster.pdf"),
        "The harvest festival\nbegins at noon\nBring your own basket\nand sturdy boots\nMirrored in the pond\n\
         below the willow\nPostponed if it rains\n\u{c}"
    );
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn the_widths_of_composite_fonts_part_words() {
    // Ranges and lists of widths, as Word writes them. Blanks are gaps, which differ little from the widths.
    let unicode = "1 beginbfrange <0001> <001A> <0061> endbfrange";
    let font = composite("1 8 600 9 [250 250 600 250] 13 26 700", unicode);
    let page = "BT /F2 10 Tf 72 700 Td [<000B0009001A00050014> -250 <00070001001200040005000E>] TJ ET";
    assert_eq!(text(&document(&[page.to_owned()], &font)), "kizet garden\n\u{c}");
    // A glyph that the table lacks is lost, and nothing else is.
    let font = composite("1 26 600", "1 beginbfrange <0001> <0008> <0061> endbfrange");
    let page =
        "BT /F2 10 Tf 72 700 Td <000200050001001400040005000400> Tj 0 -20 Td <00060001000400050004> Tj ET";
    assert_eq!(text(&document(&[page.to_owned()], &font)), "beaded\nfaded\n\u{c}");
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn a_second_print_is_no_second_letter() {
    let bold: String = (0..2)
        .flat_map(|print| {
            let letters = "SEEDLESS".chars().enumerate();
            letters.map(move |(at, letter)| {
                self::at(72.0 + 6.6 * at as f64 + 0.4 * f64::from(print), 700.0, &letter.to_string())
            })
        })
        .collect();
    assert_eq!(text(&document(&[bold], &[])), "SEEDLESS\n\u{c}");
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn columns_are_read_one_after_the_other_in_whatever_order_they_are_written() {
    let left = [
        "Beans climb up the northern fence,",
        "and nobody ever picked them under-",
        "neath the old and crooked ladder.",
    ];
    let right = [
        "Peas were sown in the first week of",
        "April, and they had grown well be-",
        "fore the slugs came up the garden.",
    ];
    let mut page = at(
        72.0,
        740.0,
        "Of beans and peas in every allotment garden that there is between the river and the hill",
    );
    for (line, (left, right)) in left.iter().zip(right).enumerate() {
        let y = 700.0 - 12.0 * line as f64;
        page += &at(320.0, y, right);
        page += &at(72.0, y, left);
    }
    assert_eq!(
        text(&document(&[page], &[])),
        "Of beans and peas in every allotment garden that there is between the river and the hill\n\
         \n\
         Beans climb up the northern fence,\n\
         and nobody ever picked them underneath\n\
         the old and crooked ladder.\n\
         Peas were sown in the first week of\n\
         April, and they had grown well before\n\
         the slugs came up the garden.\n\
         \u{c}"
    );
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn running_heads_are_read_once_and_numbers_of_pages_never() {
    let vegetables = ["Asparagus", "Beetroot", "Celery", "Dill", "Endive"];
    let pages: Vec<String> = vegetables
        .iter()
        .enumerate()
        .map(|(number, name)| {
            at(72.0, 760.0, "A vegetable alphabet")
                + &at(72.0, 700.0, name)
                + &at(72.0, 680.0, "It is grown in rows.")
                + &at(300.0, 30.0, &format!("Page {} of 5", number + 1))
        })
        .collect();
    let mut expected = "A vegetable alphabet\n\n".to_owned();
    for name in vegetables {
        writeln!(expected, "{name}\nIt is grown in rows.").unwrap();
        expected.push('\u{c}');
    }
    assert_eq!(text(&document(&pages, &[])), expected);
}

/// A TrueType font with one glyph, which is empty, in hexadecimal digits.
const EMPTY_FONT: &str = "00010000000400400002000068656164000000000000004C0000003668686561000000000000008400000024686D74780000\
    0000000000A8000000046D61787000000000000000AC000000060001000000000000000000005F0F3CF5000003E800000000\
    0000000000000000000000000000000000000000000000000000000000000000000100000000000000000000000000000000\
    000000000000000000000000000000000001000000000000500000010000>";

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn a_japanese_font_without_a_table_is_read_by_the_numbers_of_its_characters() {
    let font = [
        "<</Type/Font/Subtype/Type0/BaseFont/ABCDEF+Niwa/Encoding/Identity-H/DescendantFonts[5 0 R]>>"
            .to_owned(),
        "<</Type/Font/Subtype/CIDFontType2/BaseFont/ABCDEF+Niwa/DW 1000/FontDescriptor 6 0 R\
         /CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>>>"
            .to_owned(),
        "<</Type/FontDescriptor/FontName/ABCDEF+Niwa/Flags 4/FontFile2 7 0 R>>".to_owned(),
        format!("<</Filter/ASCIIHexDecode/Length {}>>stream\n{EMPTY_FONT}\nendstream", EMPTY_FONT.len()),
    ];
    let page = "BT /F2 10 Tf 72 700 Td <034B034C034D> Tj ET";
    assert_eq!(text(&document(&[page.to_owned()], &font)), "あぃい\n\u{c}");
}

/// Keeps: A PDF is read in the order in which people read it.
#[test]
fn a_compound_with_a_single_letter_keeps_its_hyphen_at_the_end_of_a_line() {
    let page = at(72.0, 700.0, "The dentist has made an X-") + &at(72.0, 688.0, "ray of the old tooth.");
    assert_eq!(text(&document(&[page], &[])), "The dentist has made an X-ray\nof the old tooth.\n\u{c}");
}

/// Keeps: A directory of real files is no failure.
#[test]
fn a_pdf_with_a_password_is_counted_in_a_directory_and_one_without_pages_is_damaged() {
    let digits = "41".repeat(32);
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Count 0/Kids[]>>".to_owned(),
        format!("<</Filter/Standard/V 1/R 2/Length 40/P -4/O<{digits}>/U<{digits}>>>"),
    ];
    let empty = file(&objects);
    let locked = String::from_utf8(empty.clone()).unwrap();
    let locked = locked.replace("/Root 1 0 R", "/Root 1 0 R/Encrypt 3 0 R/ID[<00><00>]");
    let home = Home::new();
    home.write("docs/locked.pdf", &locked);
    let ran = home.run("rsv-parse", &["docs"], "");
    let told = "rsv-parse: 1 file was not read: 1 PDF with a password; -v names each\n";
    assert_eq!((ran.status, &*ran.stderr), (0, told), "{ran}");
    assert!(home.run("rsv-parse", &["docs/locked.pdf"], "").trouble().contains("encrypted with a password"));
    std::fs::write(home.path("docs/empty.pdf"), empty).unwrap();
    let said = home.run("rsv-parse", &["docs"], "").trouble();
    assert!(said.contains("cannot read docs/empty.pdf: a PDF without pages"), "{said}");
}
