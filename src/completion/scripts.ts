/** The shells that have a completion script. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof SHELLS)[number];

/** The name of each script in completions/. */
export const SCRIPT_FILES: Readonly<Record<Shell, string>> = {
  bash: 'partnerctl.bash',
  zsh: '_partnerctl',
  fish: 'partnerctl.fish',
  powershell: 'partnerctl.ps1',
};

/*
 * The scripts call `partnerctl __complete`, which prints what to offer (see format.ts). No script evaluates any of its output.
 */

// Must also work in bash 3.2, which has neither compopt nor mapfile.
const BASH = `# Completes partnerctl in bash. Printed by: partnerctl completion bash
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
          COMPREPLY[\${#COMPREPLY[@]}]=$line
        done
        ;;
    esac
  } < <(command partnerctl __complete bash "$COMP_TYPE" "\${COLUMNS:-80}" "$COMP_WORDBREAKS" "\${COMP_LINE:0:COMP_POINT}" "\${COMP_LINE:COMP_POINT}" 2>/dev/null)
  case $kind in
    nospace) compopt -o nospace 2>/dev/null ;;
    files) action=file ;;
    directories) action=directory ;;
    commands) action=command ;;
  esac
  if [[ -n $action ]]; then
    [[ $action == command ]] || compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
      COMPREPLY[\${#COMPREPLY[@]}]=$prefix$line
    done < <(compgen -A "$action" -- "$word")
  fi
}
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
  complete -o nosort -F _partnerctl partnerctl
else
  complete -F _partnerctl partnerctl
fi
`;

const ZSH = `#compdef partnerctl
# Completes partnerctl in zsh. Printed by: partnerctl completion zsh
_partnerctl() {
  local current=\${(Q)PREFIX} line kind prefix value description
  local -a lines before after values beginnings
  before=("\${(@Q)words[2,CURRENT-1]}")
  after=("\${(@Q)words[CURRENT+1,-1]}")
  (( CURRENT > 2 )) || before=()
  (( CURRENT < $#words )) || after=()
  lines=("\${(@f)$(command partnerctl __complete zsh "$current" $#before "$before[@]" "$after[@]" 2>/dev/null)}")
  kind=\${lines[1]%%$'\\t'*}
  case $kind in
    files | directories)
      prefix=\${lines[1]#*$'\\t'}
      PREFIX=\${PREFIX#$prefix}
      IPREFIX+=$prefix
      if [[ $kind == files ]]; then _files; else _files -/; fi
      return
      ;;
    commands)
      _command_names -e
      return
      ;;
  esac
  for line in "\${(@)lines[2,-1]}"; do
    value=\${line%%$'\\t'*}
    description=\${line#*$'\\t'}
    value=\${\${value//\\\\/\\\\\\\\}//:/\\\\:}
    [[ -z $description ]] || description=:\${description//\\\\/\\\\\\\\}
    if [[ $value == *[:=/] ]]; then
      beginnings+=($value$description)
    else
      values+=($value$description)
    fi
  done
  (( $#values == 0 )) || _describe -V partnerctl values
  (( $#beginnings == 0 )) || _describe -V partnerctl beginnings -S ''
}
if [[ $funcstack[1] == _partnerctl ]]; then
  _partnerctl "$@"
else
  compdef _partnerctl partnerctl
fi
`;

const FISH = `# Completes partnerctl in fish. Printed by: partnerctl completion fish
function __partnerctl_complete
    set -l raw (commandline -ct)
    # An open quote is not part of the text.
    set -l current (string unescape -- $raw 2>/dev/null; or string replace -r '^[\\'"]' '' -- $raw)
    set -l before (commandline -opc)
    set -e before[1]
    set -l lines (command partnerctl __complete fish "$current" (count $before) $before 2>/dev/null)
    set -l first (string split -m 1 \\t -- $lines[1])
    switch "$first[1]"
        case files directories
            set -l path (string sub -s (math (string length -- "$first[2]") + 1) -- "$current")
            set -l paths
            if test "$first[1]" = files
                set paths (__fish_complete_path "$path")
            else
                set paths (__fish_complete_directories "$path" '')
            end
            for path in $paths
                echo -- "$first[2]$path"
            end
        case commands
            __fish_complete_command
        case values
            if set -q lines[2]
                printf '%s\\n' $lines[2..-1]
            end
    end
end
complete -c partnerctl -e
complete -c partnerctl -f -k -a '(__partnerctl_complete)'
`;

const POWERSHELL = `# Completes partnerctl in PowerShell. Printed by: partnerctl completion powershell
Register-ArgumentCompleter -Native -CommandName partnerctl -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $text = { param($element) if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $element.Value } else { $element.Extent.Text } }
    $before = @()
    $after = @()
    foreach ($element in @($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.EndOffset -lt $cursorPosition) { $before += & $text $element }
        elseif ($element.Extent.StartOffset -ge $cursorPosition) { $after += & $text $element }
    }
    $current = $wordToComplete -replace "^['\`"]|['\`"]$", ''
    $words = @($current, [string]$before.Count) + $before + $after
    # Windows PowerShell loses empty arguments and quotes.
    $encoded = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($words -join [char]0))
    $encoding = [Console]::OutputEncoding
    try {
        [Console]::OutputEncoding = [Text.Encoding]::UTF8
        $lines = @(partnerctl __complete powershell $encoded 2>$null)
    }
    finally {
        [Console]::OutputEncoding = $encoding
    }
    # Where a completer returns nothing, PowerShell completes files.
    if ($lines.Count -eq 0 -or -not $lines[0].StartsWith('values')) { return }
    if ($lines.Count -eq 1) { return '' }
    foreach ($line in $lines[1..($lines.Count - 1)]) {
        $insert, $value, $description = $line -split "\`t", 3
        [System.Management.Automation.CompletionResult]::new($insert, $value, 'ParameterValue', $description)
    }
}
`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH, powershell: POWERSHELL };

/** Returns the script that makes a shell complete partnerctl. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}
