import { UnknownShape } from '../assumptions.ts';
import type { Contract } from '../contract.ts';
import { isJsonObject, type JsonObject, jsonText } from '../json.ts';
import { LEAVES, type OperationLeaf } from '../leaves.ts';
import { rejectForeignMessages } from '../message-session.ts';
import { OPERATION_LEAVES } from '../openapi/match-operations.ts';
import type { OpenQuestion } from '../proposal.ts';
import { addAuthors } from './authors.ts';
import { type AmbiguousLeaf, Evidence, type LearnedValue } from './evidence.ts';
import type { Exchange, RecordedService } from './exchange.ts';
import { addFields, LISTED, WRITTEN } from './fields.ts';
import { addNext, isList, readTracedList, type TracedList } from './lists.ts';
import { addParameters, findOperations, placesIn, type TracedOperation, valueAtPlace } from './operations.ts';
import { addSlashes } from './slashes.ts';

/** What recorded traffic says about the contract. */
export interface TraceProposals {
  /** One value per leaf, in the order of the catalog. */
  readonly proposals: readonly LearnedValue[];
  readonly ambiguous: readonly AmbiguousLeaf[];
  /** The operations that the trace does not show. */
  readonly missing: readonly OperationLeaf[];
  readonly questions: readonly OpenQuestion[];
}

/** Leaves out pages with messages of sessions other than the requested one. */
function ownHistory(operation: TracedOperation, list: TracedList): TracedList {
  const pages = list.pages.filter(({ exchange, items }) => {
    const places = placesIn(exchange, operation, list.contract);
    const sentAs = (name: 'messages.history.source_id' | 'messages.history.session_id'): string | undefined => {
      const place = places.get(name);
      const value = place && valueAtPlace(exchange, place);
      return value === undefined ? undefined : jsonText(value);
    };
    const source_id = sentAs('messages.history.source_id');
    const session_id = sentAs('messages.history.session_id');
    if (items.length === 0) return false;
    if (source_id === undefined || session_id === undefined) return true;
    return isOwn(items, { source_id, session_id }, list.contract);
  });
  return { ...list, pages };
}

function isOwn(
  items: readonly JsonObject[],
  session: Parameters<typeof rejectForeignMessages>[1],
  contract: Contract,
): boolean {
  try {
    rejectForeignMessages(items, session, contract);
    return true;
  } catch (error) {
    if (error instanceof UnknownShape) return false;
    throw error;
  }
}

/** Returns the query parameters of an operation that are not for paging. */
function nonPagingNames(operation: TracedOperation, contract: Contract): readonly string[] {
  const names = operation.exchanges
    .slice(0, 50)
    .flatMap((exchange) =>
      [...placesIn(exchange, operation, contract).values()].flatMap(({ place, path }) =>
        place === 'query' ? (path[0] ?? []) : [],
      ),
    );
  const inPath = [...operation.value.matchAll(/[?&](\w+)=/g)].map(([, name = '']) => name);
  return [...new Set([...names, ...inPath])];
}

/** Learns from the responses of a list. @returns the contract with what was learned; undefined if no response has a list */
function learnList(
  operation: TracedOperation,
  contract: Contract,
  { service, sends, evidence }: Learning,
): Contract | undefined {
  if (!isList(operation.leaf)) return contract;
  const read = readTracedList(operation, operation.leaf, contract, evidence);
  if (read.pages.length === 0) return undefined;
  const list = operation.leaf === 'messages.history' ? ownHistory(operation, read) : read;
  const exchanges = list.pages.map(({ exchange }) => exchange);
  const objects = list.pages.flatMap(({ items }) => items);
  if (operation.leaf === 'messages.history') addParameters({ ...operation, exchanges }, contract, evidence);
  const where = `${operation.value}, items`;
  if (objects.length === 0) return list.contract;
  const learned = addFields(
    { ...LISTED[operation.leaf], where, areItems: true, objects, exchanges },
    list.contract,
    evidence,
  );
  addNext({ ...list, contract: learned }, { ...service, own: nonPagingNames(operation, contract) }, evidence);
  if (operation.leaf === 'messages.history') addAuthors(objects, sends, learned, { where, exchanges, evidence });
  return learned;
}

/** What learning from every operation needs. */
interface Learning {
  readonly service: RecordedService;
  readonly sends: readonly Exchange[];
  readonly evidence: Evidence;
}

function learnWrite(operation: TracedOperation, contract: Contract, { evidence }: Learning): Contract {
  const written = WRITTEN[operation.leaf];
  const exchanges = operation.exchanges.filter(({ body }) => isJsonObject(body) && Object.keys(body).length > 0);
  const objects = exchanges.map(({ body }) => body).filter(isJsonObject);
  if (written === undefined || objects.length === 0) return contract;
  return addFields(
    { ...written, where: `${operation.value}, response`, areItems: false, objects, exchanges },
    contract,
    evidence,
  );
}

/**
 * Derives contract values from recorded traffic, with the decoders of the client. The result has only leaves that the
 * traffic shows.
 * @param contract the current contract; leaves that the traffic confirms are proposed unchanged
 */
export function proposeFromTrace(
  exchanges: readonly Exchange[],
  contract: Contract,
  service: RecordedService,
): TraceProposals {
  const evidence = new Evidence();
  const operations = findOperations(exchanges, contract, service.basePath, evidence);
  const sends = operations.find(({ leaf }) => leaf === 'messages.send')?.exchanges ?? [];
  const learning: Learning = { service, sends, evidence };
  let learned = contract;
  for (const operation of operations) {
    const { leaf, value } = operation;
    const result = isList(leaf) ? learnList(operation, learned, learning) : learnWrite(operation, learned, learning);
    learned = result ?? learned;
    // A new path without a list in its response may be another operation.
    if (result === undefined && value !== contract.leaf(leaf).value) continue;
    evidence.add(leaf, value, `${value}: responded with status ${operation.exchanges[0]?.status}`, operation.exchanges);
    if (leaf !== 'messages.history') addParameters(operation, contract, evidence);
  }
  addSlashes(exchanges, operations, contract, { evidence, ...service });
  const { learned: values, ambiguous } = evidence.summarize();
  const order = Object.keys(LEAVES);
  return {
    proposals: values.toSorted((left, right) => order.indexOf(left.leaf) - order.indexOf(right.leaf)),
    ambiguous,
    missing: OPERATION_LEAVES.filter((leaf) => !operations.some((operation) => operation.leaf === leaf)),
    questions: evidence.questions,
  };
}
