# Completes partnerctl in PowerShell. Printed by: partnerctl completion powershell
Register-ArgumentCompleter -Native -CommandName partnerctl -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $text = { param($element) if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $element.Value } else { $element.Extent.Text } }
    $before = @()
    foreach ($element in @($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.EndOffset -lt $cursorPosition) { $before += & $text $element }
    }
    $current = $wordToComplete -replace "^['`"]|['`"]$", ''
    # Windows PowerShell loses empty arguments and quotes.
    $encoded = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes((@($current) + $before) -join [char]0))
    $encoding = [Console]::OutputEncoding
    try {
        [Console]::OutputEncoding = [Text.Encoding]::UTF8
        $lines = @(partnerctl completion powershell -- $encoded 2>$null)
    }
    finally {
        [Console]::OutputEncoding = $encoding
    }
    # Where a completer returns nothing, PowerShell completes files.
    if ($lines.Count -eq 0 -or $lines[0] -ne 'words') { return }
    if ($lines.Count -eq 1) { return '' }
    foreach ($line in $lines[1..($lines.Count - 1)]) {
        $value, $description = $line -split "`t", 2
        if (-not $description) { $description = $value }
        $insert = $value
        if ($value -notmatch '^[\w./:=+-]+$') {
            $insert = "'" + [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($value) + "'"
        }
        [System.Management.Automation.CompletionResult]::new($insert, $value, 'ParameterValue', $description)
    }
}
