complete -c rsv-embed -l field -d 'Embed this member of each line' -r
complete -c rsv-embed -l format -d 'The output: jsonl, or raw (32-bit floats, little-endian)' -r -f -a "jsonl\t''
raw\t''"
complete -c rsv-embed -l replay -d 'Embed every message anew, with another model or the same' -r
complete -c rsv-embed -l fetch -d 'Download a model, check it and prepare it' -r
complete -c rsv-embed -l from -d 'With --fetch: take the files from here; nothing is downloaded' -r -F
complete -c rsv-embed -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-embed -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-embed -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-embed -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-embed -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-embed -l text -d 'The input is plain text: each line becomes a JSON line'
complete -c rsv-embed -l query -d 'Embed as questions'
complete -c rsv-embed -l pending -d 'Embed every message of the store that has no vector'
complete -c rsv-embed -l models -d 'List the models that are known or installed'
complete -c rsv-embed -l keep -d 'With --replay: keep the vectors of the model before'
complete -c rsv-embed -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-embed -s v -l verbose -d 'Print details on standard error'
complete -c rsv-embed -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-embed -s V -l version -d 'Print version'
