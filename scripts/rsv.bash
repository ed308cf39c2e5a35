# shellcheck shell=bash
# Functions for bash and zsh: models with memory at the command line, programs that run with memory,
# browsing, and forgetting. Source it from ~/.bashrc, or scripts/rsv.zsh from ~/.zshrc; rsv-shell(7) is the
# manual. They need jq; rsv-browse needs fzf too.

# Asks with cgip: gpty [-p PARTITION] [-i INSTANCE] [-m MODEL] [QUESTION...]. Text from a pipe becomes part of the question.
contextual_cgip_with_ingest() {
    _rsv_ask gpty "$@"
}

# Asks with the ollama command, in the same way. The default model is that of the settings.
contextual_ollama_with_ingest() {
    _rsv_ask olm "$@"
}

# Runs a command whose requests go through the proxy: rsv-with [-p PARTITION] [-i INSTANCE] COMMAND...
rsv-with() {
    if (($# == 0)); then
        echo 'rsv-with: usage: rsv-with [-p PARTITION] [-i INSTANCE] COMMAND...' >&2
        return 2
    fi
    rsv-proxy --quiet "$@"
}

# The names of the functions; an alias of the same name would shadow them.
unalias gpty olm gpty_work gpty_personal gpty_creative 2>/dev/null || :
gpty() { contextual_cgip_with_ingest "$@"; }
olm() { contextual_ollama_with_ingest "$@"; }
gpty_work() { gpty -p "${USER:-$(id -un)}" -i work "$@"; }
gpty_personal() { gpty -p "${USER:-$(id -un)}" -i personal "$@"; }
gpty_creative() { gpty -p default -i default "$@"; }

# Searches while you type, where rsv-search does on a terminal, and shows each hit among the messages around it:
# rsv-browse [-p PARTITION] [-i INSTANCE] [--all] [WORD...]. Prints the chosen message. Exit status: 1 if none is chosen;
# 2 for trouble.
rsv-browse() {
    local flag='' run='' row='' code=0
    # For the functions below, which fzf runs in a separate shell: that of SHELL.
    local -x _rsv_partition='' _rsv_instance='' _rsv_all='' _rsv_columns='' _rsv_functions='' SHELL=bash
    [[ -z ${ZSH_VERSION-} ]] || SHELL=zsh
    while [[ $flag != -- && ${1-} == -* ]]; do
        flag=$1
        case $flag in
            --) ;;
            --all) _rsv_all=$flag ;;
            -p | -i)
                [[ -n ${2-} ]] || break
                if [[ $flag == -p ]]; then _rsv_partition=$2; else _rsv_instance=$2; fi
                shift
                ;;
            *) break ;;
        esac
        shift
    done
    if [[ $flag != -- && ${1-} == -* ]] || [[ -n $_rsv_all && -n $_rsv_partition$_rsv_instance ]]; then
        echo 'rsv-browse: usage: rsv-browse [-p PARTITION] [-i INSTANCE] [--all] [WORD...]' >&2
        return 2
    fi
    for run in fzf jq; do
        command -v "$run" >/dev/null && continue
        printf 'rsv-browse: error: %s is not installed; install it, for instance with: apt install %s\n' "$run" "$run" >&2
        return 2
    done
    row=$(_rsv_browse_in_scope rsv-view --quiet --limit 1 --format jsonl) || return 2
    if [[ -z $row ]]; then
        # On a terminal, this suggests similar searches.
        _rsv_browse_in_scope rsv-view --limit 1
        return 1
    fi
    _rsv_functions=$(typeset -f _rsv_browse_list _rsv_browse_widen _rsv_browse_in_scope _rsv_browse_rows \
        _rsv_browse_titles _rsv_browse_message _rsv_browse_preview _rsv_browse_trace _rsv_browse_conversation \
        _rsv_browse_paged _rsv_browse_copy _rsv_browse_clipboard _rsv_browse_rules _rsv_browse_rule \
        _rsv_browse_correct _rsv_browse_forget _rsv_browse_pause)
    _rsv_columns=$(stty size 2>/dev/null </dev/tty) && _rsv_columns=${_rsv_columns#* } || _rsv_columns=80
    row=$(_rsv_browse_list "$*") || code=$?
    [[ $code != 2 ]] || return 2
    [[ $row == '"'* ]] || return 1
    _rsv_browse_message "${row%%$'\t'*}"
}

# Lists the hits of a question, which can be changed, and prints the chosen row. A change empties the list, and the end of
# that (load) begins the search, so that no hit of another question is shown meanwhile.
_rsv_browse_list() {
    # shellcheck disable=SC2016  # is expanded in the shell that fzf runs
    local run='eval "$_rsv_functions"; _rsv_browse' prompt='search> ' other='ctrl-r searches everywhere'
    [[ -z $_rsv_all ]] || { prompt='search all> ' && other='ctrl-r searches less'; }
    _rsv_browse_rows "$1" | fzf --disabled --no-sort --no-multi --ansi --layout=reverse --info=inline \
        --query="$1" --prompt="$prompt" --delimiter=$'\t' --with-nth=2.. \
        --header=$'enter prints · ctrl-t opens the trace, ctrl-o the conversation\nctrl-y copies · alt-p pins, alt-n never recalls\nalt-c corrects · ctrl-x forgets · '"$other" \
        --preview="${run}_preview {1}" --preview-window='right,55%,wrap,<100(down,60%,wrap)' \
        --bind="change:change-prompt($prompt)+rebind(load)+reload(:)" \
        --bind='start:unbind(load)' \
        --bind="load:unbind(load)+reload(${run}_rows {q})" \
        --bind="ctrl-r:become(${run}_widen {q})" \
        --bind="ctrl-t:execute(${run}_trace {1} >/dev/tty)" \
        --bind="ctrl-o:execute(${run}_conversation {1} >/dev/tty)" \
        --bind="ctrl-y:transform-prompt(${run}_copy {1})" \
        --bind="alt-p:transform-prompt(${run}_rule {1} always)+reload(${run}_rows {q})" \
        --bind="alt-n:transform-prompt(${run}_rule {1} never)+reload(${run}_rows {q})" \
        --bind="alt-c:execute(${run}_correct {1} >/dev/tty)+reload(${run}_rows {q})" \
        --bind="ctrl-x:execute(${run}_forget {1} >/dev/tty)+reload(${run}_rows {q})"
}

# Replaces a list by one with the hits of all scopes, or, if it had these, of the previous scope.
_rsv_browse_widen() {
    if [[ -n $_rsv_all ]]; then _rsv_all=''; else _rsv_all=--all; fi
    _rsv_browse_list "$1"
}

# Runs rsv-search or rsv-view in the scopes that are browsed.
_rsv_browse_in_scope() {
    if [[ -n $_rsv_all ]]; then
        "$1" --all "${@:2}"
    elif [[ -n $_rsv_partition$_rsv_instance ]]; then
        "$1" ${_rsv_partition:+"--partition=$_rsv_partition"} ${_rsv_instance:+"--instance=$_rsv_instance"} "${@:2}"
    else
        "$1" --here "${@:2}"
    fi
}

# The rows of the hits of a question, best first; without a question, of the last messages, newest first. A row is the
# id of a message as JSON, which is not shown, a tab, and the beginning of the message; narrow terminals have no space for
# its date and scope. An error is a row without an id.
_rsv_browse_rows() {
    local scopes=yes
    [[ -n $_rsv_all || -z $_rsv_partition ]] || scopes=''
    {
        if [[ $1 == *[![:space:]]* ]]; then
            _rsv_browse_in_scope rsv-search --quiet --by auto --limit 200 --format jsonl -- "$1"
        else
            _rsv_browse_in_scope rsv-view --quiet --limit 200 --format jsonl
        fi
    } 2>&1 | jq -nRr --arg question "$1" --arg scopes "$scopes" --arg plain "${NO_COLOR-}" \
        --argjson columns "$_rsv_columns" --slurpfile titles <(_rsv_browse_titles) --slurpfile rules <(_rsv_browse_rules) '
        def clean: gsub("[\\p{Cc}\\s]+"; " ") | gsub("[\\p{Cf}&&[^\\x{200d}]]"; "");
        def paint($colour): if $plain == "" then "\u001b[\($colour)m\(.)\u001b[0m" else . end;
        def date: . / 1000 | floor | strflocaltime("%Y-%m-%d %H:%M");
        def scope: "\(.partition)/\(.instance)";
        ($titles | map({key: scope, value: .title}) | from_entries) as $title |
        ($rules | map({key: .of, value: .recall}) | from_entries) as $rule |
        def text: if type == "array" then map(.text? // empty) | join(" ") else . // "" | tostring end;
        [inputs] | if $question | test("\\S") then .[] else reverse[] end |
        . as $line | (try fromjson catch null) |
        if type != "object" then "\t" + ($line | clean) else
            (.id | tojson) + "\t" + ([(.timestamp | date), if $scopes == "" then empty else
                    (if .instance | test("^\\w{8}-\\w{4}-\\w{4}-") then .instance |= .[:8] else . end | scope),
                    ($title[scope] // empty | if length > 32 then .[:31] + "…" else . end | "“\(.)”")
                end]
                | if $columns < 60 then "" else join(" ") + " " | clean | paint(2) end)
            + ($rule[.id] // "auto" | if . == "auto" then "" else paint(33) + " " end)
            + (.role // .record | paint({user: 32, assistant: 34, system: 35}[.] // 33))
            + " " + (.content // .title | text | .[:400] | clean)
        end'
}

# The newest titles of conversations.
_rsv_browse_titles() { rsv-view --quiet --all --kind title --limit 1000 --format jsonl 2>/dev/null; }

# The newest rules of recall, of which the last about a message holds.
_rsv_browse_rules() { rsv-view --quiet --all --kind recall --limit 1000 --format jsonl 2>/dev/null; }

# Prints a message, whose id is given as JSON, with other flags of rsv-view.
_rsv_browse_message() {
    local id=''
    id=$(printf '%s' "$1" | jq -r .) && shift || return 2
    [[ -n $_rsv_all || -z $_rsv_partition ]] || set -- --partition="$_rsv_partition" "$@"
    rsv-view --id="$id" "$@"
}

# A message in colour among those around it, of which the ones before it do not push it out of sight.
_rsv_browse_preview() {
    local color=always
    [[ -z ${NO_COLOR-} ]] || color=never
    [[ -z $1 ]] || COLUMNS=$FZF_PREVIEW_COLUMNS _rsv_browse_message "$1" --context 3 --format text --color "$color" |
        awk '{ line[NR] = $0 } /^> / && !at { at = NR }
            END { for (n = at > 6 ? at - 6 : 1; n <= NR; n++) print line[n] }'
}

# The turn of a message with its actions, in a pager that does not end by itself.
_rsv_browse_trace() { [[ -z $1 ]] || _rsv_browse_paged _rsv_browse_message "$1" --turn; }

# The whole conversation of a message, in the same way.
_rsv_browse_conversation() { [[ -z $1 ]] || _rsv_browse_paged _rsv_browse_message "$1" --conversation; }

# Runs a command whose pager does not end by itself.
_rsv_browse_paged() {
    local pager="${PAGER-less}"
    LESS="${LESS-R} -+F" "$@"
    if [[ $pager != *less* ]] || ! command -v less >/dev/null; then _rsv_browse_pause; fi
}

# Copies the text of a message, and prints the prompt that says so.
_rsv_browse_copy() {
    [[ -n $1 ]] && _rsv_browse_message "$1" --format jsonl |
        jq -j '.content | if type == "array" then map(.text? // empty) | join("\n\n") else . // "" end' |
        _rsv_browse_clipboard && echo 'copied> ' || echo 'not copied> '
}

# Copies standard input: with a program for the clipboard, or with the terminal (OSC 52).
_rsv_browse_clipboard() {
    if [[ -n ${WAYLAND_DISPLAY-} ]] && command -v wl-copy >/dev/null; then
        wl-copy
    elif [[ -n ${DISPLAY-} ]] && command -v xclip >/dev/null; then
        xclip -selection clipboard
    elif [[ -n ${DISPLAY-} ]] && command -v xsel >/dev/null; then
        xsel --clipboard --input
    elif command -v pbcopy >/dev/null; then
        pbcopy
    elif [[ -n ${TMUX-} ]] && command -v tmux >/dev/null; then
        tmux load-buffer -w -
    else
        printf '\033]52;c;%s\a' "$(base64 | tr -d '\n')" >/dev/tty
    fi >/dev/null 2>&1
}

# Gives a message a recall rule, or removes the same rule; prints the prompt that says so.
_rsv_browse_rule() {
    local rule='' prompt='not changed> '
    if [[ -n $1 ]] && rule=$(rsv-view --all --of="$(printf '%s' "$1" | jq -r .)" --kind recall --limit 1 \
        --format jsonl | jq -r .recall); then
        [[ $rule != "$2" ]] || set -- "$1" auto
        if jq -nc --argjson id "$1" '{kind: "message", id: $id}' | rsv-signal --quiet "--$2" >/dev/null 2>&1; then
            prompt="$2> "
        fi
    fi
    echo "$prompt"
}

# Stores a correction of a message in its conversation.
_rsv_browse_correct() {
    local text='' said='' scope=''
    [[ -n $1 ]] || return 0
    _rsv_browse_message "$1" --no-pager || { _rsv_browse_pause; return; }
    printf '\nSay what is right instead (nothing: leave it as it is): '
    read -r text
    [[ -n $text ]] || return 0
    scope=$(_rsv_browse_message "$1" --format jsonl | jq -r '"--partition=\(.partition)\n--instance=\(.instance)"')
    said=$(rsv-ingest --quiet "${scope%%$'\n'*}" "${scope#*$'\n'}" --corrects "$(printf '%s' "$1" | jq -r .)" \
        -- "$text" 2>&1 >/dev/null) || :
    [[ -z $said ]] || { printf '%s\n' "$said"; _rsv_browse_pause; }
}

# Forgets a message after confirmation.
_rsv_browse_forget() {
    local answer='' said=''
    [[ -n $1 ]] || return 0
    _rsv_browse_message "$1" --no-pager || { _rsv_browse_pause; return; }
    printf '\nForget this message for good? [y/N] '
    read -r answer
    [[ $answer == [yY]* ]] || return 0
    said=$(jq -nc --argjson id "$1" '{kind: "message", id: $id}' | rsv-forget --all - 2>&1 >/dev/null) || :
    [[ -z $said ]] || { printf '%s\n' "$said"; _rsv_browse_pause; }
}

_rsv_browse_pause() {
    printf '\nPress Enter to continue. '
    read -r _
}

# Forgets the last turn of a scope, with its account: rsv-forget-last [-p PARTITION] [-i INSTANCE].
rsv-forget-last() { _rsv_forget rsv-forget-last "$@"; }

# Forgets the messages of the last hour: rsv-forget-hour [-p PARTITION] [-i INSTANCE] [-y].
rsv-forget-hour() { _rsv_forget rsv-forget-hour "$@"; }

# Forgets every message with a word or a phrase: rsv-forget-word [-p PARTITION] [-i INSTANCE] [-y] WORD...
rsv-forget-word() { _rsv_forget rsv-forget-word "$@"; }

# Forgets a part of one scope, and prints the removed records. Exit status: 1 if there was nothing; 2 for trouble.
_rsv_forget() {
    local name=$1 partition='' instance='' yes='' words='' trace=''
    local OPTIND=1 OPTARG='' flag='' usage="usage: $1 [-p PARTITION] [-i INSTANCE] [-y]"
    [[ $name != rsv-forget-word ]] || usage+=' WORD...'
    shift
    while getopts :p:i:y flag; do
        case $flag in
            p) partition=$OPTARG ;;
            i) instance=$OPTARG ;;
            y) yes=--yes ;;
            *)
                printf '%s: %s\n' "$name" "$usage" >&2
                return 2
                ;;
        esac
    done
    shift $((OPTIND - 1))
    words=$*
    if [[ $name == rsv-forget-word ]]; then
        [[ $words == *[![:space:]]* ]] || flag=wrong
    else
        [[ -z $words ]] || flag=wrong
    fi
    if [[ $flag == wrong ]]; then
        printf '%s: %s\n' "$name" "$usage" >&2
        return 2
    fi
    : "${partition:=default}" "${instance:=$partition}"
    set -- -p "$partition" -i "$instance" ${yes:+"$yes"}
    case $name in
        rsv-forget-last)
            trace=$(set -o pipefail
                rsv-view -p "$partition" -i "$instance" 1 | jq -r .trace_id) || return 2
            [[ -n $trace ]] || return 1
            rsv-forget "$@" --trace "$trace"
            ;;
        rsv-forget-hour) rsv-forget "$@" --since "$(($(date +%s) - 3600))000" ;;
        # Every message is examined: a search finds parts of words and other forms too, and only the best.
        *)
            (set -o pipefail
                rsv-export -p "$partition" -i "$instance" |
                    jq -c --arg word "$words" 'select(.kind == "message" and
                        ([.content | .. | strings] | join("\n") | test("(?<!\\w)\\Q" + $word + "\\E(?!\\w)"; "i")))' |
                    rsv-forget "$@" -)
            ;;
    esac
}

# One turn: recalls, asks, shows the answer as it arrives, and stores question and answer together. Nothing is stored
# before there is an answer, so that no question finds itself. Exit status: the model's; 1 if it gave no answer; 2 for
# trouble here. Without cgip or ollama, rsv-ask asks instead.
_rsv_ask() {
    local name=$1 partition='' instance='' model='' question request text answer code=0
    local OPTIND=1 OPTARG='' flag=''
    shift
    while getopts :p:i:m: flag; do
        case $flag in
            p) partition=$OPTARG ;;
            i) instance=$OPTARG ;;
            m) model=$OPTARG ;;
            *)
                printf '%s: usage: %s [-p PARTITION] [-i INSTANCE] [-m MODEL] [QUESTION...]\n' "$name" "$name" >&2
                return 2
                ;;
        esac
    done
    shift $((OPTIND - 1))
    question=$*
    if [[ ! -t 0 ]]; then
        answer=$(cat 2>/dev/null) || :
        [[ -z $question || -z $answer ]] || question+=$'\n\n'
        question+=$answer
    fi
    if [[ $question != *[![:space:]]* ]]; then
        printf '%s: error: there is no question: give it as words, or pipe it in\n' "$name" >&2
        return 2
    fi
    if [[ $name == olm && -z $model ]] && ! model=$(rsv-config get model); then
        printf '%s: error: no model is named: give -m MODEL, or run: rsv-config set model MODEL\n' "$name" >&2
        return 2
    fi
    : "${partition:=default}" "${instance:=$partition}"
    if [[ $name == gpty ]]; then flag=cgip; else flag=ollama; fi
    if ! command -v "$flag" >/dev/null; then
        rsv-ask -p "$partition" -i "$instance" ${model:+"--model=$model"} -- "$question" </dev/null
        return
    fi
    request=$(set -o pipefail
        printf '%s' "$question" |
            jq -Rsc --arg model "$model" '{messages: [{role: "user", content: .}]}
                + (if $model == "" then {} else {model: $model} end)' |
            rsv-enrich --strict -p "$partition" -i "$instance") || return 2
    text=$(printf '%s' "$request" | jq -r '.messages[-1].content') || return 2
    if [[ $name == olm ]]; then
        set -- ollama run "$model"
    elif [[ -n $model ]]; then
        set -- cgip -M "$model"
    else
        set -- cgip
    fi
    # A captured output is a pipe, which can be opened once more by its name; standard output may be a file, which
    # must not be.
    {
        answer=$(set -o pipefail
            { "$@" < <(printf '%s\n' "$text") | tee /dev/fd/3 >&4; } 3>&1) || code=$?
    } 4>&1
    if [[ $code == 0 && $answer != *[![:space:]]* ]]; then
        printf '%s: error: there is no answer, and nothing was stored\n' "$name" >&2
        code=1
    fi
    [[ $code == 0 ]] || return "$code"
    { printf '%s\n' "$request" && printf '%s' "$answer" | jq -Rs .; } |
        jq -sc '{choices: [{index: 0, message: {role: "assistant", content: .[1]}}], rsv: .[0].rsv}
            + (.[0] | if .model then {model} else {} end)' |
        rsv-ingest >/dev/null || return 2
}
