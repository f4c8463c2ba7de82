/** SKILL.md: what a coding agent needs to know to use partnerctl, in one file. */

const INTRODUCTION = `---
name: partnerctl
description: Provision customer workspaces (spaces) and agents from YAML, chat with agents, upload files, and schedule jobs on the Partner Automation API with the partnerctl command line. Use it when a task names partnerctl, a Partner Automation API, spaces, agents, API chats, or scheduled jobs of customers.
---

# partnerctl

Each command makes real changes for real customers. Jobs cannot be changed or deleted through the service, and each one runs the
customer's agent forever.

## Work safely

Rehearse first. \`sandbox run\` starts a copy of the service on this machine, needs no account, and runs one command with it:

\`\`\`sh
partnerctl sandbox run -- partnerctl provision acme.yaml
partnerctl sandbox run -- sh -c 'partnerctl provision acme.yaml && partnerctl spaces list -o json'
\`\`\`

Read before you write. \`doctor\` checks the settings and the token, and \`plan\` shows what \`provision\` would do; both send no
write. Show the plan to the person you work for, and provision after they agree:

\`\`\`sh
partnerctl doctor
partnerctl plan acme.yaml -o json
\`\`\`

Write once:

- Repeating \`provision\`, \`upload\`, and \`cron create --ensure\` is safe: nothing is created twice.
- After exit code 9, the outcome is unknown. Do what the hint says. Never create the same thing in another way.
- Never delete or edit the state (\`partnerctl state path\`): it prevents duplicates.
- Never print or log a token, or pass it as an argument. It comes from \`PARTNER_TOKEN\`, \`--token-file\`, or a profile.
- \`--retry-unknown\`, \`--assume-not-created\`, \`--force\`, \`--unguarded\`, and \`--yes\` accept a risk, and \`--confirm\`
  writes with a protected profile. Ask the person first.

## Read the output

- \`-o json\` prints one JSON document to stdout; \`-o ndjson\` one object per line. Notes and errors go to stderr.
- With \`-o json\`, an error is one JSON object on the last line of stderr: \`error.type\`, \`error.message\`, \`error.hint\`.
- \`--query '<JMESPath>'\` selects from the JSON.
- \`--no-input\` never asks, \`--timeout 2m\` limits a command.
- \`partnerctl help <command> -o json\` describes arguments, flags, output, and exit codes; \`partnerctl help <topic>\` explains.

A space is \`<space_id>\`, \`ext:<external_space_id>\`, or \`name:<name>\`; an agent is \`<agent_id>\` or \`name:<name>\`.
`;

const CHAT = `## Reach an agent

\`\`\`sh
SOURCE=$(partnerctl chat setup ext:acme-001 name:Support --query source_id)
partnerctl chat send --source $SOURCE --session ticket-42 --wait 'My invoice is missing.' -o json
partnerctl cron create --agent name:Support --space ext:acme-001 --name daily --ensure \\
  --instructions 'Summarize the day.' --schedule '0 18 * * 1-5' --timezone Europe/Berlin -o json
\`\`\`
`;

function usageOf({ flag, value }) {
  return value === null ? flag : `${flag} <${value}>`;
}

function describeCommand({ command, summary, arguments: args, flags, required, writes }) {
  const needed = required.map(({ one_of: names }) => names.join('|'));
  const line = ['partnerctl', command, ...args.map(({ name, required: must }) => (must ? `<${name}>` : `[${name}]`))].join(' ');
  const notes = [
    needed.length > 0 && `needs ${needed.map((names) => `\`${names}\``).join(', ')}`,
    flags.length > 0 && `flags: ${flags.map((flag) => `\`${usageOf(flag)}\``).join(', ')}`,
  ].filter(Boolean);
  const kind = writes ? ' (writes)' : '';
  return [`- \`${line}\`: ${summary}${kind}`, ...notes.map((note) => `  - ${note}`)].join('\n');
}

/** @param program what `help -o json` prints @returns the text of SKILL.md */
export function createSkill({ commands, global_flags: flags, exit_codes: exits, topics }) {
  const lines = [
    INTRODUCTION,
    CHAT,
    '## Commands\n',
    ...commands.map(describeCommand),
    `\nEvery command takes ${flags.map((flag) => `\`${usageOf(flag)}\``).join(', ')}.\n`,
    '## Exit codes\n',
    ...exits.map(({ code, meaning }) => `- ${code}: ${meaning}`),
    '\n## Topics\n',
    ...topics.map(({ name, summary }) => `- \`partnerctl help ${name}\`: ${summary}`),
  ];
  return `${lines.join('\n')}\n`;
}
