import { UnknownShape } from '../assumptions.ts';
import type { Contract } from '../contract.ts';
import type { JsonObject } from '../json.ts';
import type { ValuesLeaf } from '../leaves.ts';
import { NEITHER_SIDE } from '../message-author.ts';
import { decodeAcknowledgement, decodeMessage, type Message } from '../messages.ts';
import type { Evidence } from './evidence.ts';
import type { Exchange } from './exchange.ts';

/** Anything else may be the name of a person. */
const AUTHOR = /^[a-z][\w.-]{0,39}$/i;

function tryRead<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnknownShape) return undefined;
    throw error;
  }
}

/** Returns the ids of the messages that the trace sent. */
function sentIds(sends: readonly Exchange[], contract: Contract): ReadonlySet<string> {
  return new Set(sends.flatMap(({ body }) => tryRead(() => decodeAcknowledgement(body, contract).message_id) ?? []));
}

/** Returns the authors that the contract does not have. */
function unknownAuthors(messages: readonly Message[]): readonly string[] {
  const roles = messages.map(({ role }) => role).filter((role) => role !== 'user' && role !== 'assistant');
  return [...new Set(roles)].filter((role) => AUTHOR.test(role) && !NEITHER_SIDE.includes(role.toLowerCase()));
}

/**
 * Adds the names of authors that the contract does not have. The author of the messages that the trace sent is the user; if
 * there is one other author, it is the agent.
 */
export function addAuthors(
  entries: readonly JsonObject[],
  sends: readonly Exchange[],
  contract: Contract,
  source: { readonly where: string; readonly exchanges: readonly Exchange[]; readonly evidence: Evidence },
): void {
  const messages = entries.flatMap((entry) => tryRead(() => decodeMessage(entry, contract)) ?? []);
  const sent = sentIds(sends, contract);
  const own = messages.filter(({ message_id }) => sent.has(message_id));
  const others = messages.filter(({ message_id }) => !sent.has(message_id));
  const users = unknownAuthors(own);
  const isUserKnown = users.length === 1 || messages.some(({ role }) => role === 'user');
  const agents = unknownAuthors(others).filter((author) => !users.includes(author));
  const add = (leaf: ValuesLeaf, value: string, seen: string): void => {
    const known = contract.leaf(leaf).value;
    source.evidence.add(leaf, `${known}, ${value}`, `${source.where}: ${seen}`, source.exchanges);
  };
  const [user, ...otherUsers] = users;
  if (user !== undefined && otherUsers.length === 0) {
    add('message.author.user', user, 'the author of the messages that the trace sends');
  }
  if (!isUserKnown || messages.some(({ role }) => role === 'assistant')) return;
  const [agent, ...otherAgents] = agents;
  if (agent !== undefined && otherAgents.length === 0) {
    add('message.author.agent', agent, 'the only author beside the user');
  } else if (agent !== undefined) {
    source.evidence.ask('message.author.agent', `${source.where} has several authors that may be the agent`);
  }
}
