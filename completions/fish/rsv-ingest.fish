complete -c rsv-ingest -l role -d 'Who says the text: user, assistant, system or tool; standard input is text then' -r
complete -c rsv-ingest -l trace -d 'The trace of what has none: question and answer of one trace belong together' -r
complete -c rsv-ingest -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-ingest -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-ingest -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-ingest -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-ingest -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-ingest -l keep-system -d 'Store system messages too'
complete -c rsv-ingest -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-ingest -s v -l verbose -d 'Print details on standard error'
complete -c rsv-ingest -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-ingest -s V -l version -d 'Print version'
