/** A topic of `partnerctl help <topic>`. Its text is the file `src/help/<name>.md`. */
export interface HelpTopic {
  readonly name: string;
  readonly summary: string;
  /** The commands and command groups whose help refers to the topic. */
  readonly commands: readonly string[];
}

export const HELP_TOPICS: readonly HelpTopic[] = [
  {
    name: 'provisioning',
    summary: 'What plan and provision do, and what a repeat does',
    commands: ['plan', 'provision'],
  },
  { name: 'manifest', summary: 'The YAML format of plan and provision', commands: ['plan', 'provision'] },
  { name: 'cron', summary: 'Scheduled jobs: create once, settle, adopt', commands: ['cron'] },
  { name: 'chat', summary: 'Send messages, wait for replies, follow sessions', commands: ['chat'] },
  {
    name: 'webhooks',
    summary: 'Receive, verify, save, and forward webhooks',
    commands: ['webhook'],
  },
  { name: 'uploads', summary: 'Upload files once, and handle unknown outcomes', commands: ['upload'] },
  { name: 'state', summary: 'The state: stores for one or many machines, failures, merges', commands: ['state'] },
  {
    name: 'ci',
    summary: 'GitHub Actions and GitLab: annotations, summaries, examples',
    commands: ['plan', 'provision'],
  },
  {
    name: 'profiles',
    summary: 'Services, tokens, and where tokens come from',
    commands: ['login', 'logout', 'whoami', 'profile'],
  },
  { name: 'options', summary: 'The options of every command', commands: [] },
  { name: 'environment', summary: 'Environment variables, and which setting wins', commands: [] },
  { name: 'output', summary: 'Output formats, queries, and JSON shapes', commands: [] },
  { name: 'exit-codes', summary: 'What each exit code means, and what to do', commands: [] },
  { name: 'reliability', summary: 'What is promised, and how it was measured', commands: [] },
  { name: 'performance', summary: 'How fast commands are, and how that is measured', commands: [] },
  { name: 'contract', summary: 'The wire format: what is assumed, and how to change it', commands: ['contract'] },
  { name: 'network', summary: 'Diagnosis, other calls, retries, proxies', commands: ['api', 'doctor'] },
  { name: 'sandbox', summary: 'The local service: scripts, admin API, clock', commands: ['sandbox'] },
  { name: 'faults', summary: 'Rules for failures of the sandbox', commands: ['sandbox'] },
  { name: 'completion', summary: 'Complete commands, flags, and ids with Tab', commands: ['completion'] },
  { name: 'development', summary: 'Work on the code of partnerctl', commands: [] },
];

/** Finds the topic that the arguments of `partnerctl help` name. @returns undefined if there is none */
export function findTopic(args: readonly string[]): HelpTopic | undefined {
  return args.length === 1 ? HELP_TOPICS.find(({ name }) => name === args[0]) : undefined;
}

/** Formats the section of the root help that lists all topics. */
export function formatTopicList(): string {
  const width = Math.max(...HELP_TOPICS.map(({ name }) => name.length));
  const lines = HELP_TOPICS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `\nHelp topics (partnerctl help <topic>):\n${lines.join('\n')}\n`;
}

/**
 * Formats the section at the end of a command's help that lists its topics.
 * @param group the command's group, or the command itself if it has none
 * @returns '' if the command has no topics
 */
export function formatTopicsFor(group: string): string {
  const lines = HELP_TOPICS.filter(({ commands }) => commands.includes(group)).map(
    ({ name, summary }) => `  # ${summary}\n  $ partnerctl help ${name}`,
  );
  return lines.length === 0 ? '' : `\nLearn more:\n${lines.join('\n')}\n`;
}
