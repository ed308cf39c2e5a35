//! The control tokens of models, and how they lose their meaning in a text.

use std::borrow::Cow;

/// The tokens by which chat templates delimit turns, calls of tools and their results, beside those with
/// bars. Servers that apply a template parse them within a text too: llama.cpp makes control tokens of them.
const CONTROL_TOKENS: [&str; 56] = [
    // Llama 2 and Mistral.
    "<s>",
    "</s>",
    "<unk>",
    "<pad>",
    "<<SYS>>",
    "<</SYS>>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[MODEL_SETTINGS]",
    "[/MODEL_SETTINGS]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CONTENT]",
    "[CALL_ID]",
    "[ARGS]",
    "[THINK]",
    "[/THINK]",
    "[IMG]",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[BEGIN_AUDIO]",
    "[AUDIO]",
    // Gemma.
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_image>",
    "<end_of_image>",
    "<start_function_",
    "<end_function_",
    // GLM.
    "[gMASK]",
    "[sMASK]",
    "<sop>",
    "<eop>",
    // Kimi, EXAONE.
    "[BOS]",
    "[EOS]",
    "[EOT]",
    "[start_header_id]",
    "[end_header_id]",
    "[|system|]",
    "[|user|]",
    "[|assistant|]",
    "[|tool|]",
    "[|endofturn|]",
    // Command R, Nemotron, Ling.
    "<BOS_TOKEN>",
    "<EOS_TOKEN>",
    "<SPECIAL_",
    "<extra_id_",
    "<role>",
    "</role>",
    // MiniMax.
    "]~!b[",
    "]~b]",
    "[e~[",
];

/// The names of the tags between which models and the programs of agents put calls of tools, their results,
/// thoughts, and what a program says itself. A tag may have a namespace, such as `antml:`, and attributes.
const CONTROL_TAGS: [&str; 40] = [
    "AVAILABLE_TOOLS",
    "TOOLCALL",
    "arg_key",
    "arg_value",
    "bos",
    "command-args",
    "command-message",
    "command-name",
    "environment_context",
    "eos",
    "function",
    "function_call",
    "function_calls",
    "function_response",
    "function_result",
    "function_results",
    "invoke",
    "local-command-stdout",
    "parameter",
    "reasoning",
    "system-reminder",
    "system_reminder",
    "system-warning",
    "system_warning",
    "task-notification",
    "think",
    "thinking",
    "tool",
    "tool_call",
    "tool_calls",
    "tool_output",
    "tool_outputs",
    "tool_response",
    "tool_responses",
    "tool_result",
    "tool_results",
    "tool_use",
    "tools",
    "user-prompt-submit-hook",
    "user_instructions",
];
/// The namespaces whose tags are all of this kind.
const CONTROL_NAMESPACES: [&str; 2] = ["antml", "minimax"];

/// Escapes control tokens in a text: inserts a space after the first character of each.
pub fn escape_control_tokens(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for at in memchr::memchr3_iter(b'<', b'[', b']', text.as_bytes()) {
        if begins_control_token(&text[at..]) {
            out.push_str(&text[done..=at]);
            out.push(' ');
            done = at + 1;
        }
    }
    if done == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[done..]) }
}

/// Whether a text begins with a control token. Looks at no more than the length of one.
fn begins_control_token(text: &str) -> bool {
    let second = text.as_bytes().get(1);
    CONTROL_TOKENS.iter().any(|token| token.as_bytes().get(1) == second && text.starts_with(token))
        || text.strip_prefix('<').is_some_and(|rest| is_control_tag(rest.strip_prefix('/').unwrap_or(rest)))
}

/// The greatest length of a control token's name, in characters.
const MAX_TOKEN_CHARS: usize = 40;
/// The fullwidth bar of DeepSeek's tokens.
const WIDE_BAR: char = '\u{ff5c}';

/// Whether a text continues after its `<` or `</` as one of the tags does, as `<|im_end|>`, `<|turn>`,
/// `<turn|>` or `<\u{ff5c}User\u{ff5c}>`; an operator `<|` does not.
fn is_control_tag(rest: &str) -> bool {
    if rest.starts_with(WIDE_BAR) {
        return true;
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '=');
    let Some((end, sign)) = rest.char_indices().take(MAX_TOKEN_CHARS + 3).find(|(_, c)| ends(*c)) else {
        return false;
    };
    let tag = &rest[..end];
    let name = tag.trim_matches('|');
    if name.len() < tag.len() {
        return sign == '>' && !name.is_empty() && name.chars().count() <= MAX_TOKEN_CHARS;
    }
    let name = name.trim_end_matches('/');
    let (namespace, name) = name.rsplit_once(':').unwrap_or(("", name));
    // A single word in another case is more likely a type: `Vec<Tool>`.
    let is_tag =
        |known: &str| name == known || known.contains(['_', '-']) && name.eq_ignore_ascii_case(known);
    sign != '<' && (CONTROL_NAMESPACES.contains(&namespace) || CONTROL_TAGS.into_iter().any(is_tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_token_is_left_in_a_quotation() {
        let families = [
            "<|im_start|> <|im_end|> <|endoftext|> <tool_call> </tool_call> <tool_response> <tools> <think> </think>",
            "<tool_call><function=f><parameter=p></parameter></function></tool_call>",
            "[gMASK]<sop> <eop> <|user|> <|observation|> <arg_key> </arg_key> <arg_value>",
            "<|begin_of_text|> <|start_header_id|> <|eot_id|> <|python_tag|> <|header_start|>",
            "<s> </s> <<SYS>> <</SYS>> [INST] [/INST] [TOOL_CALLS] [/TOOL_RESULTS] [AVAILABLE_TOOLS] [ARGS] [THINK]",
            "<bos> <eos> <start_of_turn> <end_of_turn> <|turn> <turn|> <|tool_call> <tool_call|> <channel|> <|\"|>",
            "<start_function_call> <end_function_response>",
            "<\u{ff5c}User\u{ff5c}> <\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}> </\u{ff5c}DSML\u{ff5c}invoke> <\u{ff5c}DSML\u{ff5c}invoke",
            "<|system|> <|end|> <|tool|> <|/tool|> <BOS_TOKEN> <|START_OF_TURN_TOKEN|> <|END_RESPONSE|>",
            "[BOS] [EOS] [EOT] <|im_middle|> <|tool_calls_section_begin|> <|open|> <|sep|>",
            "<|start|> <|channel|> <|message|> <|call|> <|return|> <|constrain|>",
            "<minimax:tool_call> <seed:think> </seed:tool_call> <steptml:invoke> ]~!b[ ]~b] [e~[ <SPECIAL_11> <role>",
            "<AVAILABLE_TOOLS> <TOOLCALL> <TOOL_RESPONSE> [|user|] [|endofturn|]",
            "<function_calls> </function_calls> <function_results> <invoke> </invoke> <parameter> <thinking>",
            "<system-reminder> </system-reminder> <SYSTEM-REMINDER> <system_reminder> <environment_context> <tool_use/> <command-name> <local-command-stdout>",
        ];
        for token in families.iter().flat_map(|family| family.split(' ')) {
            let escaped = escape_control_tokens(token).into_owned();
            let without = escaped.replace("< ", "<").replace("[ ", "[").replace("] ", "]");
            assert!(escaped != token && without == *token, "{token}: {escaped}");
            assert_eq!(escape_control_tokens(&escaped), escaped, "once is enough");
        }
        // Tags may have attributes, and those of a namespace are all taken.
        let text =
            format!("<invoke name=\"f\"><{}:any name=\"p\"></{0}:any> <system-reminder\nid=1>", "antml");
        let wanted = text.replace('<', "< ");
        assert_eq!(escape_control_tokens(&text), wanted);
        let long = format!("<|{}|><|{}|>", "a".repeat(41), "b".repeat(40));
        assert_eq!(escape_control_tokens(&long), format!("<|{}|>< |{}|>", "a".repeat(41), "b".repeat(40)));
    }

    #[test]
    fn code_that_only_looks_like_a_control_token_stays() {
        for text in [
            "f <| x |> y, a <|> b, <||>, [| 1; 2 |], a[1], b[i][j], [TODO] [x] [^1] [link](tool)",
            "<b> <a href=''> <br/> <tooltip> <thinker> Vec<Tool> Vec<ToolCall> Option<Function> <T as Tool>::Call",
            "if a <s && b> c, 1 <think, x<y, <, <<, <-, </, <",
            "<div class=\"tool\">, <xs:element>, <svg:path>, <svg>",
        ] {
            assert_eq!(escape_control_tokens(text), text);
        }
    }
}
