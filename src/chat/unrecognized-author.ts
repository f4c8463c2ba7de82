import type { Contract } from '../contract/contract.ts';
import { fieldsOf } from '../contract/fields.ts';
import { describeFields } from '../contract/json.ts';
import type { Message } from '../contract/messages.ts';
import type { FormatCommand } from './source.ts';

/** Roles that say who wrote a message, or that nobody did: the user, and steps that no one waits for. */
const KNOWN_ROLES = ['user', 'assistant', 'system', 'tool', 'function', 'event', 'notification', 'log', 'note'];

/** Whether a message may be a reply, but its author is not recognized. */
export function isUnrecognized({ role }: Message): boolean {
  return !KNOWN_ROLES.includes(role.toLowerCase());
}

/** Explains which messages have an unrecognized author, and which command settles it. Undefined without such messages. */
export function explainUnrecognized(messages: readonly Message[], contract: Contract, toCommand: FormatCommand) {
  const [first] = messages;
  if (first === undefined) return undefined;
  const roles = [...new Set(messages.map(({ role }) => role))].filter((role) => role !== 'unknown');
  const set = (...settings: readonly string[]) => toCommand(['contract', 'set', ...settings]);
  if (roles.length === 0) {
    const field = fieldsOf(first.raw, 'message', contract).suspect('message.author')?.value ?? '<path>';
    return {
      why: `A message came, but the tool cannot find its author: it is ${describeFields(first.raw)}.`,
      hint: `Name the field that tells the author with: ${set('message.author', field)}`,
    };
  }
  const [one = '', other, ...more] = roles;
  const withRole = (leaf: 'message.author.agent' | 'message.author.user', role: string) =>
    [leaf, [...contract.values(leaf), role].join(', ')] as const;
  const asAgent = (role: string) => withRole('message.author.agent', role);
  const asUser = (role: string) => withRole('message.author.user', role);
  // Of two unknown authors, one is most likely the agent and the other the user.
  const isPair = other !== undefined && more.length === 0;
  const lines = isPair
    ? [
        `If ${JSON.stringify(one)} is the agent, run: ${set(...asAgent(one), ...asUser(other))}`,
        `If ${JSON.stringify(other)} is the agent, run: ${set(...asAgent(other), ...asUser(one))}`,
      ]
    : roles.flatMap((role) => [
        `If ${JSON.stringify(role)} is the agent, run: ${set(...asAgent(role))}`,
        `If it is the user, run: ${set(...asUser(role))}`,
      ]);
  return {
    why: [
      `A message came from an author that the tool does not recognize: ${roles.map((role) => JSON.stringify(role)).join(', ')}.`,
      `It is ${describeFields(first.raw)}.`,
    ].join(' '),
    hint: lines.join('\n'),
  };
}
