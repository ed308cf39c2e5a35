complete -c rsv-export -l format -d 'The output: jsonl, json (Reservoir\'s array), csv or md' -r -f -a "jsonl\t''
json\t''
csv\t''
md\t''"
complete -c rsv-export -l vectors -d 'Embeddings too, as numbers or base64' -r -f -a "numbers\t''
base64\t''"
complete -c rsv-export -l role -d 'Only messages of this role: user, assistant, system or tool' -r
complete -c rsv-export -l since -d 'Only messages from this time on: a date, RFC 3339, or milliseconds' -r
complete -c rsv-export -l until -d 'Only messages up to this time' -r
complete -c rsv-export -s p -l partition -d 'The partition: a project, a person' -r
complete -c rsv-export -s i -l instance -d 'The instance within the partition: a task, a device' -r
complete -c rsv-export -l store -d 'The store: sqlite:PATH, a path, or neo4j [default: RSV_STORE, else the XDG data directory]' -r
complete -c rsv-export -l config -d 'The settings\' file [default: RSV_CONFIG, else the XDG config directory]' -r -F
complete -c rsv-export -l color -d 'Colour on standard output: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c rsv-export -s q -l quiet -d 'Print no notes on standard error'
complete -c rsv-export -s v -l verbose -d 'Print details on standard error'
complete -c rsv-export -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rsv-export -s V -l version -d 'Print version'
