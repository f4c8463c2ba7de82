import { OUTPUT_FORMATS } from '../output/command-result.ts';
import type { Command, FlagSpec } from './command.ts';

/** A command whose code is not loaded yet. */
export interface CommandEntry {
  /** The command's full name, such as `chat send`. */
  readonly commandPath: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly default: Command }>;
}

function entry(commandPath: string, summary: string, load: CommandEntry['load']): CommandEntry {
  return { commandPath, summary, load };
}

/** All commands, in the order that help lists them. */
export const COMMANDS: readonly CommandEntry[] = [
  entry('login', 'Store a service and its token in a profile', () => import('../commands/login.ts')),
  entry('logout', 'Remove the token from a profile', () => import('../commands/logout.ts')),
  entry(
    'whoami',
    'Show the service and the token in use, and whether the service accepts it',
    () => import('../commands/whoami.ts'),
  ),
  entry('doctor', 'Check every setting and connection, and say what to do', () => import('../commands/doctor.ts')),
  entry('profile list', 'List the profiles', () => import('../commands/profile/list.ts')),
  entry('profile use', 'Make a profile the default', () => import('../commands/profile/use.ts')),
  entry('profile show', 'Show a profile, without its token', () => import('../commands/profile/show.ts')),
  entry(
    'profile protect',
    'Ask for the name of a profile before each write',
    () => import('../commands/profile/protect.ts'),
  ),
  entry('profile unprotect', 'End the protection of a profile', () => import('../commands/profile/unprotect.ts')),
  entry('profile remove', 'Remove a profile', () => import('../commands/profile/remove.ts')),
  entry('spaces list', 'List the spaces that the token can access', () => import('../commands/spaces/list.ts')),
  entry('agents list', 'List the agents of a space', () => import('../commands/agents/list.ts')),
  entry('plan', 'Show what provision would do, and why', () => import('../commands/plan.ts')),
  entry('provision', 'Create or reuse spaces and install agents, from YAML', () => import('../commands/provision.ts')),
  entry('chat setup', "Create or reuse an agent's API chat source", () => import('../commands/chat/setup.ts')),
  entry('chat open', 'Chat with an agent interactively', () => import('../commands/chat/open.ts')),
  entry(
    'chat send',
    'Send a message to an agent, optionally waiting for the reply',
    () => import('../commands/chat/send.ts'),
  ),
  entry('chat wait', 'Wait for the reply to a message', () => import('../commands/chat/wait.ts')),
  entry('chat tail', 'Follow the messages of one or more sessions', () => import('../commands/chat/tail.ts')),
  entry('chat watch', 'Watch every conversation of this machine', () => import('../commands/chat/watch.ts')),
  entry('state path', 'Print the path or the address of the state', () => import('../commands/state/path.ts')),
  entry('state show', 'Show the records of the state', () => import('../commands/state/show.ts')),
  entry('state verify', 'Check every line of the state', () => import('../commands/state/verify.ts')),
  entry('state init', 'Prepare a database or a repository for the state', () => import('../commands/state/init.ts')),
  entry('state copy', 'Copy the records of one place to another', () => import('../commands/state/copy.ts')),
  entry('upload', 'Upload files as attachments or documents, each once', () => import('../commands/upload.ts')),
  entry('cron create', 'Create scheduled jobs, each at most once', () => import('../commands/cron/create.ts')),
  entry(
    'cron list',
    'List scheduled jobs, and what the state knows about them',
    () => import('../commands/cron/list.ts'),
  ),
  entry(
    'cron reconcile',
    'Resolve jobs whose creation has an unknown outcome',
    () => import('../commands/cron/reconcile.ts'),
  ),
  entry('cron adopt', 'Record an existing job in the state', () => import('../commands/cron/adopt.ts')),
  entry(
    'cron forget',
    'Remove a job from the state so that it can be created again',
    () => import('../commands/cron/forget.ts'),
  ),
  entry(
    'webhook listen',
    'Receive, verify, and forward webhooks on this machine',
    () => import('../commands/webhook/listen.ts'),
  ),
  entry('webhook replay', 'Send saved webhooks again', () => import('../commands/webhook/replay.ts')),
  entry('webhook trigger', 'Make the sandbox send a webhook', () => import('../commands/webhook/trigger.ts')),
  entry('api', 'Make any call of the service', () => import('../commands/api.ts')),
  entry('contract show', 'Show the wire format that the tool expects', () => import('../commands/contract/show.ts')),
  entry('contract set', 'Set a part of the wire format', () => import('../commands/contract/set.ts')),
  entry(
    'contract import',
    "Read the wire format from the service's OpenAPI document",
    () => import('../commands/contract/import.ts'),
  ),
  entry(
    'contract check',
    'Compare the wire format with the service, by reads only',
    () => import('../commands/contract/check.ts'),
  ),
  entry('contract unset', 'Remove a setting of the wire format', () => import('../commands/contract/unset.ts')),
  entry('sandbox start', 'Run the service on this machine', () => import('../commands/sandbox/start.ts')),
  entry('sandbox run', 'Run a command against a temporary sandbox', () => import('../commands/sandbox/run.ts')),
  entry('completion install', 'Set up completion in your shell', () => import('../commands/completion/install.ts')),
  entry(
    'completion refresh',
    'Read the ids and names that completion offers',
    () => import('../commands/completion/refresh.ts'),
  ),
  entry('completion bash', 'Print the completion script of bash', () => import('../commands/completion/bash.ts')),
  entry('completion zsh', 'Print the completion script of zsh', () => import('../commands/completion/zsh.ts')),
  entry('completion fish', 'Print the completion script of fish', () => import('../commands/completion/fish.ts')),
  entry(
    'completion powershell',
    'Print the completion script of PowerShell',
    () => import('../commands/completion/powershell.ts'),
  ),
];

/** The command groups: name and summary. */
export const GROUPS: Readonly<Record<string, string>> = {
  profile: 'Named services and tokens',
  spaces: 'Customer workspaces',
  agents: 'Agents of a space',
  chat: 'Send messages to agents and follow their replies',
  cron: 'Scheduled jobs, never created twice',
  state: 'The record of earlier runs',
  webhook: 'Receive, verify, and forward webhooks',
  contract: 'The wire format, where the specification leaves it open',
  sandbox: 'A local copy of the service, no account needed',
  completion: 'Complete commands, flags, and ids with the Tab key',
};

/** Flags that every command accepts. */
export const GLOBAL_FLAGS: readonly FlagSpec[] = [
  { usage: '--profile <name>', description: 'use this profile (PARTNER_PROFILE)' },
  { usage: '--base-url <url>', description: 'base URL of the service, ending in /v1 (PARTNER_BASE_URL)' },
  {
    usage: '--token-file <path>',
    description: 'read the token from a file, or from standard input with - (PARTNER_TOKEN holds the token itself)',
  },
  {
    usage: '-o, --output <format>',
    description: 'output format (PARTNER_OUTPUT)',
    defaultText: 'table in a terminal, tsv elsewhere',
    choices: OUTPUT_FORMATS,
  },
  { usage: '--query <JMESPath>', description: 'print only what this expression selects from the JSON output' },
  { usage: '--wide', description: 'table: shorten nothing, and show exact times' },
  { usage: '-q, --quiet', description: 'hide progress and notices' },
  { usage: '-v, --verbose', description: 'log a line per request to stderr' },
  { usage: '--debug', description: 'also log headers and bodies, with secrets redacted' },
  {
    usage: '--color <when>',
    description: 'when to use colors (NO_COLOR, FORCE_COLOR)',
    choices: ['auto', 'always', 'never'],
    default: 'auto',
  },
  { usage: '--no-input', description: 'never ask questions' },
  { usage: '--timeout <duration>', description: 'time limit of the whole command: 500ms, 30s, 2m, 1h' },
  { usage: '--retries <n>', description: 'how often to retry a failed call that is safe to repeat', default: '3' },
  { usage: '--state <file>', description: 'the state: a file, postgres://…, or git+ssh://…#branch (PARTNER_STATE)' },
];
