import type { Contract } from './contract.ts';
import { LEAVES, type LeafName } from './leaves.ts';

/** Another request for a history than the assumed one. */
export interface HistoryVariant {
  /** The values of the leaves, to be remembered once it has proved right. */
  readonly values: Readonly<Partial<Record<LeafName, string>>>;
  readonly contract: Contract;
}

/** What may be wrong with the assumed request: the names of its parameters, or its method. */
export type HistoryDoubt = 'names' | 'method';

type Names = Readonly<Record<'source_id' | 'session_id' | 'after_message_id', string>>;

const SPEC_NAMES: Names = { source_id: 'source_id', session_id: 'session_id', after_message_id: 'after_message_id' };
const CAMEL: Names = { source_id: 'sourceId', session_id: 'sessionId', after_message_id: 'afterMessageId' };

/** Customary names, the likeliest first. Each costs a request. */
const OTHER_NAMES: readonly Names[] = [
  CAMEL,
  { source_id: 'SourceId', session_id: 'SessionId', after_message_id: 'AfterMessageId' },
  { source_id: 'source-id', session_id: 'session-id', after_message_id: 'after-message-id' },
  { source_id: 'source', session_id: 'session', after_message_id: 'after' },
  { source_id: 'source_id', session_id: 'conversation_id', after_message_id: 'after_message_id' },
  { source_id: 'source_id', session_id: 'thread_id', after_message_id: 'after_message_id' },
];

/** The operation that reads the history by POST. */
export const POST_HISTORY = LEAVES['messages.history'].value.replace('GET', 'POST');

function parametersAt(place: 'query' | 'body', names: Names): HistoryVariant['values'] {
  return {
    'messages.history.source_id': `${place}:${names.source_id}`,
    'messages.history.session_id': `${place}:${names.session_id}`,
    'messages.history.after_message_id': `${place}:${names.after_message_id}`,
  };
}

function isLeaf(entry: [string, string | undefined]): entry is [LeafName, string] {
  return entry[1] !== undefined;
}

/** Returns the contract with values for leaves that are not set; undefined if that changes nothing. */
export function varyHistory(contract: Contract, values: HistoryVariant['values']): HistoryVariant | undefined {
  const open = Object.entries(values)
    .filter(isLeaf)
    .filter(([leaf, value]) => {
      const { source, value: current } = contract.leaf(leaf);
      return source !== 'override' && source !== 'imported' && value !== current;
    });
  if (open.length === 0) return undefined;
  const varied = open.reduce((changed, [leaf, value]) => changed.withObserved(leaf, value), contract);
  return { values: Object.fromEntries(open), contract: varied };
}

/**
 * Returns the variants that are worth a try (spec §4.4 and §4.7 leave the method and the names open). Only
 * the history may be asked by POST, because its path has no other use.
 */
export function historyVariants(contract: Contract, doubt: HistoryDoubt): readonly HistoryVariant[] {
  const variants =
    doubt === 'names'
      ? OTHER_NAMES.map((names) => parametersAt('query', names))
      : [SPEC_NAMES, CAMEL].map((names) => ({ 'messages.history': POST_HISTORY, ...parametersAt('body', names) }));
  return variants.flatMap((values) => varyHistory(contract, values) ?? []);
}
