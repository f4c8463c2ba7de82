# Completes partnerctl in fish. Printed by: partnerctl completion fish
function __partnerctl_complete
    set -l raw (commandline -ct)
    # An open quote is not part of the text.
    set -l current (string unescape -- $raw 2>/dev/null; or string replace -r '^[\'"]' '' -- $raw)
    set -l before (commandline -opc)
    set -e before[1]
    set -l lines (command partnerctl completion fish -- "$current" $before 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case words
            if set -q lines[2]
                printf '%s\n' $lines[2..-1]
            end
    end
end
complete -c partnerctl -e
complete -c partnerctl -f -k -a '(__partnerctl_complete)'
