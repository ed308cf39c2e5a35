complete -c rsv-view -l role -d 'Only messages of this role: user, assistant, system or tool' -r
complete -c rsv-view -l since -d 'Only messages from this time on: a date, RFC 3339, or milliseconds' -r
complete -c rsv-view -l until -d 'Only messages up to this time' -r
complete -c rsv-view -l trace -d 'Only messages of this trace' -r
complete -c rsv-view -l format -d 'The output: jsonl or text [default: text on a terminal, else jsonl]' -r -f -a "jsonl\t''
text\t''"
complete -c rsv-view -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-view -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-view -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-view -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-view -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-view -l accounts -d 'What was recalled for requests, and what it cost, instead of messages'
complete -c rsv-view -l all -d 'All scopes of the store'
complete -c rsv-view -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-view -s v -l verbose -d 'Print details on standard error'
complete -c rsv-view -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-view -s V -l version -d 'Print version'
