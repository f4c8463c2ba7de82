import type { Contract } from '../contract/contract.ts';
import { Fields } from '../contract/fields.ts';
import { describeFields } from '../contract/json.ts';
import type { Message } from '../contract/messages.ts';
import type { FormatCommand } from './source.ts';

/** Roles that say who wrote a message, or that nobody did: the user, and steps that no one waits for. */
const KNOWN_ROLES = ['user', 'assistant', 'system', 'tool', 'function', 'event', 'notification', 'log', 'note'];

/** Whether a message may be a reply, but its author is not recognized. */
export function isUnrecognized({ role }: Message): boolean {
  return !KNOWN_ROLES.includes(role.toLowerCase());
}

/** Explains that the author of a message is not recognized, and which command settles it. */
export function explainUnrecognized({ role, raw }: Message, contract: Contract, toCommand: FormatCommand) {
  const set = (leaf: string, value: string) => toCommand(['contract', 'set', leaf, value]);
  if (role === 'unknown') {
    const field = new Fields(raw, 'message', contract).fixOf('message.author').value;
    return {
      why: `A message came, but the tool cannot find its author: it is ${describeFields(raw)}.`,
      hint: `Name the field that tells the author with: ${set('message.author', field)}`,
    };
  }
  const setRole = (leaf: 'message.author.agent' | 'message.author.user') =>
    set(leaf, `${contract.leaf(leaf).value}, ${role}`);
  const name = JSON.stringify(role);
  return {
    why: `A message came from an author that the tool does not recognize: ${name}. It is ${describeFields(raw)}.`,
    hint: `If ${name} is the agent, run: ${setRole('message.author.agent')}\nIf it is the user, run: ${setRole('message.author.user')}`,
  };
}
