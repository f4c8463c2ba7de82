import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandsBelow, lineageOf, metaOf, pathOf, programOf } from './command.ts';

/** Words of other tools; the command lines that do it, of which a group proposes its own; and what the API cannot do. */
const COMMANDS: readonly (readonly [words: string, lines: readonly string[], cannot?: string])[] = [
  ['get ls list', ['spaces list', 'agents list <space>', 'cron list', 'profile list', 'state show']],
  ['describe info inspect show', ['spaces show <space>', 'profile show', 'contract show', 'state show']],
  ['diff preview', ['plan <file>']],
  ['validate lint', ['provision <file> --check']],
  ['up deploy sync push', ['provision <file>']],
  ['create new add install', ['provision <file>', 'cron create', 'chat setup <space> <agent>']],
  ['import pull', ['export', 'cron adopt <cron_job_id>', 'contract import <file|url>']],
  ['config configure profiles token', ['login', 'profile list', 'whoami']],
  ['auth me user', ['login', 'logout', 'whoami']],
  ['status health ping', ['doctor', 'spaces show <space>', 'state show']],
  ['logs log follow history messages', ['chat tail', 'chat watch']],
  ['jobs job schedule', ['cron list', 'cron create']],
  ['run exec', ['sandbox run -- <command>'], 'The API cannot run a job before its time.'],
  ['files file attachments documents', ['upload <file>']],
  ['source sources', ['chat setup <space> <agent>', 'chat watch']],
  ['schema', ['provision --schema', 'cron create --schema', 'chat test --schema']],
  ['docs man topics', ['help']],
  ['delete rm remove destroy down', ['profile remove <profile>', 'cron forget'], 'The API cannot delete anything.'],
  ['update edit patch rename', [], 'The API cannot change what exists: it only creates and lists.'],
  ['pause disable stop cancel suspend', [], 'The API cannot pause or stop a job or an agent.'],
];

/** Options of other tools; the argument, the option, or the name of the commands that they are for; what to type. */
const OPTIONS: readonly (readonly [flags: string, of: string | undefined, says: string])[] = [
  ['-f --file --filename', '<file>', 'The file is an argument, without a flag.'],
  ['--space --space-id -n --namespace', '<space>', 'The space is an argument, without a flag.'],
  ['--text --message -m', '<text>', 'The text is an argument, without a flag.'],
  ['--space-id -n --namespace', '--space', 'Use --space <space>.'],
  ['--agent-id', '--agent', 'Use --agent <agent_id>.'],
  ['--parallel --parallelism --jobs -j', '--concurrency', 'Use --concurrency <n>.'],
  ['--target --include', '--only', "Use --only '<glob>'."],
  ['--fail-fast', '--max-failures', 'Use --max-failures 1.'],
  ['--auto-approve -y', '--yes', 'Use --yes.'],
  ['--dry-run --diff', 'provision', 'Use `partnerctl plan <file>`.'],
  ['--dry-run', 'plan', '`partnerctl plan` changes nothing: leave the option out.'],
  ['--cron --expression', '--schedule', "Use --schedule '<cron fields>'."],
  ['--tz', '--timezone', 'Use --timezone <zone>.'],
  ['--follow -f', 'tail', 'It follows, unless --no-follow is given.'],
  ['--all -A --page --page-size', 'list', 'A list is always read to its end: leave the option out.'],
  ['-X --request --method', '<method>', 'The method is the first argument.'],
  ['--url', '--to', 'Use --to <url>.'],
  ['--name', '--filename', 'Use --filename <name>.'],
  ['--token --api-key -t', undefined, 'Set PARTNER_TOKEN, or use --token-file <path>: a flag is no place for a token.'],
  ['--json', undefined, 'Use -o json.'],
  ['--format', undefined, 'Use -o <format>.'],
  ['--jq --jsonpath --filter --sort --sort-by --limit', undefined, "Use --query '<JMESPath>'."],
  ['--url --host --server --endpoint', undefined, 'Use --base-url <url>.'],
  ['--no-color --no-colour', undefined, 'Use --color never, or set NO_COLOR.'],
  ['-V', undefined, 'Use --version.'],
  ['--insecure -k', undefined, 'Certificates are always checked: name that of your CA in NODE_EXTRA_CA_CERTS.'],
];

function has(words: string, word: string): boolean {
  return words.split(' ').includes(word);
}

/** What to do in place of a word that is no command of a group or the program; undefined if that is not known. */
export function answerToWord(word: string, parent: CommandUnknownOpts): string | undefined {
  const [, lines, cannot] = COMMANDS.find(([words]) => has(words, word)) ?? [];
  const commands = commandsBelow(programOf(parent));
  const deeper = commands.filter((each) => each.name() === word).map(pathOf);
  // Profiles, states, and contracts are of this machine.
  const ofApi = commands.filter((each) => metaOf(each)?.scopes).map(pathOf);
  const isOfApi = !parent.parent || commandsBelow(parent).every((each) => metaOf(each)?.scopes);
  const all = lines ?? deeper;
  const own = all.filter((line) => line.startsWith(`${pathOf(parent)} `));
  const others = isOfApi && !cannot ? all.filter((line) => ofApi.some((path) => line.startsWith(path))) : [];
  const shown = !parent.parent ? all : own.length > 0 ? own : others;
  const quoted = shown.map((line) => `\`partnerctl ${line}\``);
  const use = quoted.length > 0 && `Use ${new Intl.ListFormat('en-US', { type: 'disjunction' }).format(quoted)}.`;
  return [isOfApi && cannot, use].filter(Boolean).join(' ') || undefined;
}

/** What to type in place of an option that a command does not have; undefined if that is not known. */
export function answerToOption(flag: string, command: CommandUnknownOpts): string | undefined {
  const options = lineageOf(command).flatMap((each) => each.options.map(({ long }) => long));
  const of = [command.name(), ...options, ...command.registeredArguments.map((each) => `<${each.name()}>`), undefined];
  return OPTIONS.find(([flags, where]) => has(flags, flag) && of.includes(where))?.[2];
}
