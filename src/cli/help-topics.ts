import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { pathOf } from './leaf.ts';

/** A topic of `partnerctl help <topic>`. Its text is the file `src/help/<name>.md`. */
export interface HelpTopic {
  readonly name: string;
  readonly summary: string;
  /** The commands and command groups whose help refers to the topic. */
  readonly commands: readonly string[];
}

export const HELP_TOPICS: readonly HelpTopic[] = [
  {
    name: 'manifest',
    summary: 'The YAML of plan and provision, and what a run changes',
    commands: ['plan', 'provision'],
  },
  { name: 'cron', summary: 'Scheduled jobs: create once, settle, adopt', commands: ['cron'] },
  { name: 'chat', summary: 'Send messages, wait for replies, follow sessions', commands: ['chat'] },
  { name: 'webhooks', summary: 'Receive, verify, save, and forward webhooks', commands: ['webhook'] },
  {
    name: 'state',
    summary: 'What earlier runs did; uploads; one state for many machines',
    commands: ['state', 'upload'],
  },
  {
    name: 'ci',
    summary: 'GitHub Actions and GitLab: workflows, annotations, summaries',
    commands: ['plan', 'provision'],
  },
  {
    name: 'output',
    summary: 'Output, exit codes, environment, tokens, global options',
    commands: ['login', 'logout', 'whoami', 'profile', 'doctor', 'api'],
  },
  { name: 'contract', summary: 'The wire format, where the specification leaves it open', commands: ['contract'] },
  { name: 'sandbox', summary: 'The service on this machine: scripts, faults, clock', commands: ['sandbox'] },
  { name: 'skill', summary: 'For coding agents: safe use in scripts', commands: [] },
];

/** Finds the topic that the arguments of `partnerctl help` name. @returns undefined if there is none */
export function findTopic(args: readonly string[]): HelpTopic | undefined {
  return args.length === 1 ? HELP_TOPICS.find(({ name }) => name === args[0]) : undefined;
}

/** The topics of a command, which are those of its group. */
export function topicsOf(command: CommandUnknownOpts): readonly HelpTopic[] {
  const [first = ''] = pathOf(command).split(' ');
  return HELP_TOPICS.filter(({ commands }) => commands.includes(first));
}
