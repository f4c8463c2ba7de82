# Completes partnerctl in bash. Printed by: partnerctl completion bash
_partnerctl() {
  local kind word
  COMPREPLY=()
  # The file of a redirection, which bash completes.
  [[ ${COMP_WORDS[COMP_CWORD-1]} == *[\<\>] ]] && return
  {
    IFS= read -r kind
    while IFS=$'\t' read -r word _; do
      COMPREPLY[${#COMPREPLY[@]}]=$word
    done
  } < <(command partnerctl completion bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  # Where nothing is offered, bash completes files, unless it is told not to. Before bash 4, it always does.
  [[ $kind == files ]] || compopt +o default 2>/dev/null
}
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
  complete -o nosort -o default -F _partnerctl partnerctl
else
  complete -o default -F _partnerctl partnerctl
fi
