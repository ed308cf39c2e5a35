complete -c rsv-search -l fallback -d 'What to do if no model can be used: keyword, to search by words' -r -f -a "keyword\t''"
complete -c rsv-search -l limit -d 'At most so many hits' -r
complete -c rsv-search -l min-score -d 'No hits of a lower score' -r
complete -c rsv-search -l context -d 'So many messages before and after each hit as well' -r
complete -c rsv-search -l role -d 'Only messages of this role: user, assistant, system or tool' -r
complete -c rsv-search -l since -d 'Only messages from this time on: a date, RFC 3339, or milliseconds' -r
complete -c rsv-search -l until -d 'Only messages up to this time' -r
complete -c rsv-search -l exclude-trace -d 'No messages of this trace; may be repeated' -r
complete -c rsv-search -l exclude -d 'Not the message that has this id; may be repeated' -r
complete -c rsv-search -l format -d 'The output: jsonl or text [default: text on a terminal, else jsonl]' -r -f -a "jsonl\t''
text\t''"
complete -c rsv-search -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-search -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-search -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-search -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-search -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-search -l semantic -d 'Find what is nearest in meaning, by an embedding model (see rsv-embed)'
complete -c rsv-search -l hybrid -d 'Find by words and by meaning together'
complete -c rsv-search -s d -l deduplicate -d 'Of messages of one role that say the same, only the best hit'
complete -c rsv-search -s l -l link -d 'After the hits what is linked to them, at most as many again: see rsv-link'
complete -c rsv-search -l explain -d 'Tell what the score of each hit is made of'
complete -c rsv-search -l all -d 'All scopes of the store'
complete -c rsv-search -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-search -s v -l verbose -d 'Print details on standard error'
complete -c rsv-search -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-search -s V -l version -d 'Print version'
