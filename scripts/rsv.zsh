# The functions of rsv.bash, which is written for zsh too. Source it from ~/.zshrc.
source "${${(%):-%x}:A:h}/rsv.bash"
