# Completes partnerctl in bash. Printed by: partnerctl completion bash
_partnerctl() {
  local kind= word= prefix= action= line
  COMPREPLY=()
  {
    IFS= read -r kind
    case $kind in
      files | directories | commands)
        IFS= read -r word
        IFS= read -r prefix
        ;;
      *)
        while IFS= read -r line; do
          COMPREPLY[${#COMPREPLY[@]}]=$line
        done
        ;;
    esac
  } < <(command partnerctl __complete bash "$COMP_TYPE" "${COLUMNS:-80}" "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" 2>/dev/null)
  case $kind in
    nospace) compopt -o nospace 2>/dev/null ;;
    files) action=file ;;
    directories) action=directory ;;
    commands) action=command ;;
  esac
  if [[ -n $action ]]; then
    [[ $action == command ]] || compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
      COMPREPLY[${#COMPREPLY[@]}]=$prefix$line
    done < <(compgen -A "$action" -- "$word")
  fi
}
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
  complete -o nosort -F _partnerctl partnerctl
else
  complete -F _partnerctl partnerctl
fi
