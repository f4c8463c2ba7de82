import { shellCommand } from '../cli/shell-command.ts';
import type { GlobalFlags } from '../config/flags.ts';
import type { Contract } from '../contract/contract.ts';
import { describeFields } from '../contract/json.ts';
import { proposePath } from '../contract/kinship.ts';
import type { Message } from '../contract/messages.ts';

/** Roles that say who wrote a message, or that nobody did: the user, and steps that no one waits for. */
const KNOWN_ROLES = ['user', 'assistant', 'system', 'tool', 'function', 'event', 'notification', 'log', 'note'];

/** Whether a message may be a reply, but its author is not recognized. */
export function isUnrecognized({ role }: Message): boolean {
  return !KNOWN_ROLES.includes(role.toLowerCase());
}

/** Explains who wrote messages that are not recognized, and which command tells. Undefined without such messages. */
export function explainUnrecognized(messages: readonly Message[], contract: Contract, flags: GlobalFlags) {
  const [first] = messages;
  if (first === undefined) return undefined;
  const roles = [...new Set(messages.map(({ role }) => role))].filter((role) => role !== 'unknown');
  const set = (leaf: string, value: string) => shellCommand(['contract', 'set', leaf, value], flags);
  if (roles.length === 0) {
    const field = proposePath(first.raw, 'message.author', contract) ?? 'FIELD';
    return {
      why: `A message came, but the tool cannot find its author: it is ${describeFields(first.raw)}.`,
      hint: `Name the field that tells the author with: ${set('message.author', field)}`,
    };
  }
  const withRoles = (leaf: 'message.author.agent' | 'message.author.user') =>
    set(leaf, [...contract.values(leaf), ...roles].join(', '));
  return {
    why: `A message came from an author that the tool does not recognize: ${roles.map((role) => JSON.stringify(role)).join(', ')}.`,
    hint: [
      `If that is the agent, run: ${withRoles('message.author.agent')}`,
      `If it is the user, run: ${withRoles('message.author.user')}`,
    ].join('\n'),
  };
}
