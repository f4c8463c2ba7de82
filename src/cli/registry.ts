import { OUTPUT_FORMATS } from '../output/render.ts';
import type { Command, FlagSpec } from './command.ts';

/** A command as the program knows it without its code. */
export interface CommandEntry {
  /** The words typed, in order. */
  readonly commandPath: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly default: Command }>;
}

/** Every command: the words, a line for the list, and where its code is. The code is loaded when it is called. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    commandPath: 'login',
    summary: 'Store a service and its token in a profile',
    load: () => import('../commands/login.ts'),
  },
  { commandPath: 'logout', summary: 'Forget the token of a profile', load: () => import('../commands/logout.ts') },
  { commandPath: 'profile list', summary: 'List the profiles', load: () => import('../commands/profile/list.ts') },
  {
    commandPath: 'profile use',
    summary: 'Make a profile the current one',
    load: () => import('../commands/profile/use.ts'),
  },
  {
    commandPath: 'profile show',
    summary: 'Show a profile, without its token',
    load: () => import('../commands/profile/show.ts'),
  },
  { commandPath: 'profile remove', summary: 'Remove a profile', load: () => import('../commands/profile/remove.ts') },
  {
    commandPath: 'spaces list',
    summary: 'List the spaces that the token reaches',
    load: () => import('../commands/spaces/list.ts'),
  },
  {
    commandPath: 'agents list',
    summary: 'List the agents of a space',
    load: () => import('../commands/agents/list.ts'),
  },
  {
    commandPath: 'provision',
    summary: 'Create or reuse spaces and install agents, from YAML',
    load: () => import('../commands/provision.ts'),
  },
  {
    commandPath: 'chat setup',
    summary: "Create or reuse an agent's API chat source",
    load: () => import('../commands/chat/setup.ts'),
  },
  {
    commandPath: 'chat open',
    summary: 'Talk: a prompt with the live tail above it',
    load: () => import('../commands/chat/open.ts'),
  },
  {
    commandPath: 'chat send',
    summary: 'Send a message to an agent, and wait for its reply if asked to',
    load: () => import('../commands/chat/send.ts'),
  },
  {
    commandPath: 'chat wait',
    summary: 'Wait for the reply to a message that was sent',
    load: () => import('../commands/chat/wait.ts'),
  },
  {
    commandPath: 'chat tail',
    summary: 'Follow what is said in one session or several',
    load: () => import('../commands/chat/tail.ts'),
  },
  {
    commandPath: 'state path',
    summary: 'Print where the state file is',
    load: () => import('../commands/state/path.ts'),
  },
  {
    commandPath: 'state show',
    summary: 'Show the records of the state file',
    load: () => import('../commands/state/show.ts'),
  },
  {
    commandPath: 'state verify',
    summary: 'Check every line of the state file',
    load: () => import('../commands/state/verify.ts'),
  },
  {
    commandPath: 'upload',
    summary: 'Upload files as attachments or documents, each once',
    load: () => import('../commands/upload.ts'),
  },
  {
    commandPath: 'cron create',
    summary: 'Create scheduled jobs, each at most once',
    load: () => import('../commands/cron/create.ts'),
  },
  {
    commandPath: 'cron list',
    summary: 'List the scheduled jobs, joined with the state file',
    load: () => import('../commands/cron/list.ts'),
  },
  {
    commandPath: 'cron reconcile',
    summary: 'Settle jobs whose creation has an unknown outcome',
    load: () => import('../commands/cron/reconcile.ts'),
  },
  {
    commandPath: 'cron adopt',
    summary: 'Record by hand that a job is there',
    load: () => import('../commands/cron/adopt.ts'),
  },
  {
    commandPath: 'cron forget',
    summary: 'Let a job be created again',
    load: () => import('../commands/cron/forget.ts'),
  },
  {
    commandPath: 'sandbox start',
    summary: 'Run the whole service on this machine',
    load: () => import('../commands/sandbox/start.ts'),
  },
  {
    commandPath: 'sandbox run',
    summary: 'Run a command against a sandbox of its own',
    load: () => import('../commands/sandbox/run.ts'),
  },
];

/** The first words that several commands share, each with a line for the list. */
export const GROUPS: Readonly<Record<string, string>> = {
  profile: 'Services and tokens, stored under names',
  spaces: 'Customer workspaces',
  agents: 'The agents inside a space',
  chat: 'Talk to an agent: set up, send, follow',
  cron: 'Scheduled jobs, never created twice',
  state: 'What earlier runs did, kept in a file',
  sandbox: 'The service, on this machine, with no account',
};

/** What every command takes beside flags of its own. */
export const GLOBAL_FLAGS: readonly FlagSpec[] = [
  { usage: '--profile <name>', description: 'use this profile (PARTNER_PROFILE)' },
  { usage: '--base-url <url>', description: 'address of the service, ending in /v1 (PARTNER_BASE_URL)' },
  {
    usage: '--token-file <path>',
    description: 'read the token from a file, or from standard input with - (PARTNER_TOKEN holds it as it is)',
  },
  {
    usage: '-o, --output <format>',
    description: 'how the answer is written: a table in a terminal, tsv elsewhere (PARTNER_OUTPUT)',
    choices: OUTPUT_FORMATS,
  },
  { usage: '--query <JMESPath>', description: 'answer with a part of the JSON form' },
  { usage: '-q, --quiet', description: 'no progress, no notices' },
  { usage: '-v, --verbose', description: 'a line on stderr for each request' },
  { usage: '--debug', description: 'headers and bodies too, without secrets' },
  { usage: '--color <when>', description: 'colours (NO_COLOR, FORCE_COLOR)', choices: ['auto', 'always', 'never'] },
  { usage: '--no-input', description: 'never ask anything' },
  { usage: '--timeout <duration>', description: 'deadline of the whole command: 500ms, 30s, 2m, 1h' },
  { usage: '--retries <n>', description: 'how often a call that may be repeated is repeated (default: 3)' },
  { usage: '--state <file>', description: 'the state file (PARTNER_STATE)' },
];
