# Completes partnerctl in fish. Printed by: partnerctl completion fish
function __partnerctl_complete
    set -l raw (commandline -ct)
    # An open quote is not part of the text.
    set -l current (string unescape -- $raw 2>/dev/null; or string replace -r '^[\'"]' '' -- $raw)
    set -l before (commandline -opc)
    set -e before[1]
    set -l lines (command partnerctl completion fish -- "$current" $before 2>/dev/null)
    set -l first (string split -m 1 \t -- $lines[1])
    switch "$first[1]"
        case files
            set -l path (string sub -s (math (string length -- "$first[2]") + 1) -- "$current")
            for path in (__fish_complete_path "$path")
                echo -- "$first[2]$path"
            end
        case words
            if set -q lines[2]
                printf '%s\n' $lines[2..-1]
            end
    end
end
complete -c partnerctl -e
complete -c partnerctl -f -k -a '(__partnerctl_complete)'
