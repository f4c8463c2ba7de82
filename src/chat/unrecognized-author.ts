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
  const set = (leaf: string, value: string) => toCommand(['contract', 'set', leaf, value]);
  if (roles.length === 0) {
    const field = fieldsOf(first.raw, 'message', contract).suspect('message.author')?.value ?? '<path>';
    return {
      why: `A message came, but the tool cannot find its author: it is ${describeFields(first.raw)}.`,
      hint: `Name the field that tells the author with: ${set('message.author', field)}`,
    };
  }
  const setRole = (leaf: 'message.author.agent' | 'message.author.user', role: string) =>
    set(leaf, [...contract.values(leaf), role].join(', '));
  const lines = roles.flatMap((role) => [
    `If ${JSON.stringify(role)} is the agent, run: ${setRole('message.author.agent', role)}`,
    `If it is the user, run: ${setRole('message.author.user', role)}`,
  ]);
  const names = roles.map((role) => JSON.stringify(role)).join(', ');
  return {
    why: `A message came from an author that the tool does not recognize: ${names}. It is ${describeFields(first.raw)}.`,
    hint: lines.join('\n'),
  };
}
