//! The targets of `fuzz`, for a short while, with inputs that are changed from valid ones.

#[path = "../../fuzz/bodies.rs"]
mod bodies;

use crate::support::{Dice, number_from};

/// Beginnings for every target, so that changes reach deep.
const SEEDS: [&[u8]; 9] = [
    br#"{"kind":"message","id":"01a0c456-7eb0-76af-9c3f-c8f81d30ae8a","trace_id":"t","partition":"p","instance":"i","role":"user","content":"hello","timestamp":1790000398000,"seq":1,"x":{"y":[1,2.5e3,null]}}"#,
    br#"{"kind":"memory","id":"m","partition":"p","instance":"i","content":"owls hunt at night","category":"fact","confidence":0.5,"timestamp":1790000398000,"sources":[{"id":"a"}]}"#,
    br#"{"kind":"document","address":"rsv://p/a/b.md","title":"b","content":"A title\\n\\ntext","timestamp":1790000398000}"#,
    br#"{"kind":"signal","of":"m","signal":"helpful","partition":"p","instance":"i","timestamp":1790000398000}"#,
    br#"{"kind":"tombstone","of":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff","what":"message","partition":"p","instance":"i","state":"forgotten","timestamp":1790000398000}"#,
    br#"{"kind":"title","instance":"i","partition":"p","title":"Owls","timestamp":1790000398000}"#,
    br#"{"a":"b\u0041\n","c":[1,{"d":"\ud83e\udd89"}],"e":{},"f":-0.0,"g":true,"a":1}"#,
    b"event: message_start\ndata: {\"a\":1}\r\n\r\n: note\n\ndata: x\rdata: y\r\rid: 3\nretry: 9\ndata\n\n",
    b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\x02\x03abcdefabcdef\0\0\0\0\0\0\0\0\x80\x01\x02\xff\xff\x03",
];

/// Changes a few bytes of an input, leaves some out, repeats some, or adds some of another.
fn changed(input: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..1 + dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + dice.below(9)).min(bytes.len());
        match dice.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
            2 => bytes
                .splice(at..end, other[dice.below(other.len())..].iter().copied().take(12))
                .for_each(drop),
            3 => bytes[at..end].iter_mut().for_each(|byte| *byte = dice.below(256) as u8),
            _ => bytes.insert(at, b"{}[]\",:\\\n\r\0\xff"[dice.below(12)]),
        }
    }
    bytes
}

/// Keeps: Any bytes are read to their end as objects, records, events and lists of the word index.
#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn any_input_is_read_to_its_end() {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(65);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let mut inputs: Vec<Vec<u8>> = SEEDS.iter().map(|input| input.to_vec()).collect();
    for _ in 0..number_from("RSV_TEST_ROUNDS").unwrap_or(50_000) {
        let (at, other) = (dice.below(inputs.len()), dice.below(SEEDS.len()));
        let input = changed(&inputs[at], SEEDS[other], &mut dice);
        println!("{}", input.escape_ascii());
        bodies::object(&input);
        bodies::postings(&input);
        bodies::events(&input);
        bodies::records(&input);
        // Every second change builds on the one before.
        inputs[at] = if dice.below(2) == 0 { input } else { SEEDS[at].to_vec() };
    }
}
