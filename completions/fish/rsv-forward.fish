complete -c rsv-forward -s j -l jobs -d 'So many requests at once; the answers stay in order' -r
complete -c rsv-forward -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-forward -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-forward -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-forward -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-forward -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-forward -l stream -d 'Print each event of an answer as it comes, and the whole answer after them'
complete -c rsv-forward -l text -d 'Print only the text of the answers, as it comes'
complete -c rsv-forward -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-forward -s v -l verbose -d 'Print details on standard error'
complete -c rsv-forward -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-forward -s V -l version -d 'Print version'
