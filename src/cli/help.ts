import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { EXIT, type ExitName } from '../errors.ts';
import { examplesOf, metaOf, pathOf } from './command.ts';

/**
 * A topic of `partnerctl help <topic>`. Its text is the file `src/help/<name>.md`.
 * @param commands the commands and command groups whose help refers to the topic
 */
function topic(name: string, summary: string, ...commands: readonly [string, ...string[]]) {
  return { name, summary, commands };
}

const SETTINGS_COMMANDS = ['login', 'logout', 'whoami', 'profile', 'doctor', 'api'] as const;

export const HELP_TOPICS = [
  topic('manifest', 'The YAML of plan and provision, and what a run changes', 'export', 'plan', 'provision'),
  topic('cron', 'Scheduled jobs: create once, settle, adopt', 'cron'),
  topic('chat', 'Send messages, wait for replies, follow sessions', 'chat'),
  topic('tests', 'Conversations as tests, with every customer', 'chat'),
  topic('webhooks', 'Receive, verify, save, and forward webhooks', 'webhook'),
  topic('state', 'What earlier runs did; uploads; one state for many machines', 'state', 'upload'),
  topic('fleet', 'Many customers in a repository: export, plan, apply, drift', 'export', 'plan', 'apply', 'provision'),
  topic('ci', 'Annotations and summaries in GitHub Actions and GitLab', 'plan', 'apply', 'provision'),
  topic('output', 'Output, exit codes, environment, tokens, global options', ...SETTINGS_COMMANDS),
  topic('contract', 'The wire format, where the specification leaves it open', 'contract'),
  topic('sandbox', 'The service on this machine: scripts, faults, clock', 'sandbox'),
  topic('skill', 'For coding agents: safe use in scripts', 'help'),
];

/** The topics of a command, which are those of its group. */
export function topicsOf(command: CommandUnknownOpts) {
  const [first = ''] = pathOf(command).split(' ');
  return HELP_TOPICS.filter(({ commands }) => commands.includes(first));
}

/** Describes an option in help: what it does, its choices, and its default. */
export function optionHelp({ description, argChoices, defaultValue }: Option): string {
  const isShown = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  const notes = [argChoices && `choices: ${argChoices.join(', ')}`, isShown && `default: ${defaultValue}`];
  const shown = notes.filter(Boolean).join('; ');
  return shown === '' ? description : `${description} (${shown})`;
}

/** The exit codes in ascending order, each with its meaning in two words: `4 not found`. */
export function exitTexts(names: readonly ExitName[]): readonly { readonly code: number; readonly meaning: string }[] {
  return names
    .map((name) => ({ code: EXIT[name], meaning: name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`) }))
    .toSorted((one, other) => one.code - other.code);
}

/** Adds `(required)` to the descriptions of required options. An alternative says itself what it replaces. */
export function markRequired(command: CommandUnknownOpts): void {
  for (const { oneOf, unless = [], when } of metaOf(command)?.required ?? []) {
    if (when) continue;
    const option = command.options.find(({ long }) => long === oneOf[0]);
    const note = unless[0] === undefined ? 'required' : `required without ${unless[0]}`;
    if (option) option.description += ` (${note})`;
  }
}

/** What follows the options in the help of the program, a group, or a command. */
export function sectionsAfter(command: CommandUnknownOpts): string {
  const meta = metaOf(command);
  const exits = exitTexts(meta?.exits ?? []).map(({ code, meaning }) => `${code} ${meaning}`);
  const columns = command.configureOutput().getOutHelpWidth?.() ?? 80;
  const wrap = (text: string) => command.createHelp().boxWrap(text, columns);
  const allTopics = HELP_TOPICS.map(({ name, summary }) => `  ${name.padEnd(9)} ${summary}`);
  const examples = examplesOf(command).map((example) => `  # ${example.description}\n  $ ${example.command}`);
  const topics = topicsOf(command).map(({ name }) => `  $ partnerctl help ${name}`);
  const sections = [
    !command.parent && `Help topics (partnerctl help <topic>):\n${allTopics.join('\n')}`,
    (!command.parent || meta) && 'Global options, such as -o json: partnerctl help output',
    !command.parent && 'Try it with no account:\n  $ partnerctl sandbox run -- partnerctl spaces list',
    meta?.scopes && wrap(`Scopes of the token: ${meta.scopes.join(', ')}`),
    meta?.json && wrap(`Fields of -o json: ${meta.json}`),
    exits.length > 0 && wrap(`Exit codes, besides 0, 1, and 2: ${exits.join(', ')}`),
    examples.length > 0 && `Examples:\n${examples.join('\n\n')}`,
    topics.length > 0 && `Learn more:\n${topics.join('\n')}`,
  ];
  return sections.map((section) => (section ? `\n${section}\n` : '')).join('');
}
