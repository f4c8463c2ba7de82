import type { Contract } from '../contract.ts';
import { groupBy } from '../group-by.ts';
import { isJsonObject } from '../json.ts';
import type { ParameterValue } from '../leaf-value.ts';
import { parseParameter } from '../leaf-value.ts';
import { type OperationLeaf, type ParameterLeaf, parametersOf } from '../leaves.ts';
import { OpenApiDocument } from '../openapi/document.ts';
import { endpointsOf } from '../openapi/endpoints.ts';
import { type MatchedOperation, matchOperations, OPERATION_LEAVES } from '../openapi/match-operations.ts';
import { matchParameters } from '../openapi/match-parameters.ts';
import { documentOf, groupByEndpoint, isOfOperation, type TracedEndpoint } from './endpoints.ts';
import type { Evidence } from './evidence.ts';
import { type Exchange, isSuccess } from './exchange.ts';

/** An operation, and its successful exchanges. */
export interface TracedOperation {
  readonly leaf: OperationLeaf;
  /** `GET /automation/spaces/`, as the leaf has it. */
  readonly value: string;
  readonly exchanges: readonly Exchange[];
}

/** Limits the trace of a client that polls for days. */
const MAX_EXCHANGES = 1_000;

/** Returns the value at a place in a request. For a place in the items of a list, returns that of the first item. */
export function valueAtPlace({ query, form, requestBody }: Exchange, { place, path }: ParameterValue): unknown {
  const [name = ''] = path;
  if (place === 'query') return Object.hasOwn(query, name) ? query[name] : undefined;
  if (place === 'form') return form.includes(name) ? name : undefined;
  return path.reduce<unknown>((value, step) => {
    const key = step.replace(/\[\]$/, '');
    const inner = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    return step.endsWith('[]') && Array.isArray(inner) ? inner[0] : inner;
  }, requestBody);
}

/** Returns a text that is equal for requests with the same names in the query, body, and form. */
function signatureOf({ query, requestBody, form }: Exchange): string {
  const names = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.slice(0, 1).map(names);
    if (!isJsonObject(value)) return null;
    return Object.keys(value)
      .toSorted()
      .map((key) => [key, names(value[key])]);
  };
  return JSON.stringify([Object.keys(query).toSorted(), names(requestBody), form]);
}

/**
 * Finds the places of an operation's parameters in a request: by the contract if the request has a value there, otherwise by
 * their names.
 */
export function placesIn(
  exchange: Exchange,
  { leaf, value }: TracedOperation,
  contract: Contract,
): ReadonlyMap<ParameterLeaf, ParameterValue> {
  const [method = '', path = ''] = value.split(' ');
  const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const traced: TracedEndpoint = { method, path: path.split('?')[0] ?? '', exchanges: [exchange] };
  const document = new OpenApiDocument(documentOf([traced], ''));
  const [endpoint] = endpointsOf(document, '');
  const places = new Map<ParameterLeaf, ParameterValue>();
  if (endpoint === undefined) return places;
  const matched: MatchedOperation = { leaf, endpoint, path, placeholders: [] };
  const matches = matchParameters(document, matched).matches;
  for (const parameter of parametersOf(leaf)) {
    if (placeholders.includes(parameter.slice(leaf.length + 1))) continue;
    const known = contract.parameter(parameter);
    const found = matches.find((match) => match.leaf === parameter);
    const isKnown = known !== undefined && valueAtPlace(exchange, known) !== undefined;
    const place = isKnown ? known : found && parseParameter(found.value);
    if (place) places.set(parameter, place);
  }
  return places;
}

function formatPlace({ place, path }: ParameterValue): string {
  return `${place}:${path.join('.')}`;
}

/** Adds the places of the parameters in the requests of an operation. */
export function addParameters(operation: TracedOperation, contract: Contract, evidence: Evidence): void {
  for (const exchanges of groupBy(operation.exchanges, signatureOf).values()) {
    const [exchange] = exchanges;
    if (exchange === undefined) continue;
    for (const [leaf, place] of placesIn(exchange, operation, contract)) {
      const sent = valueAtPlace(exchange, place);
      const type = place.place === 'form' ? 'a form field' : `a ${typeof sent}`;
      evidence.add(leaf, formatPlace(place), `${operation.value}: sent ${formatPlace(place)} (${type})`, exchanges);
    }
  }
}

/** Finds operations in a trace: first by the contract, then as in an OpenAPI document. */
export function findOperations(
  exchanges: readonly Exchange[],
  contract: Contract,
  basePath: string,
  evidence: Evidence,
): readonly TracedOperation[] {
  const successes = exchanges.filter(isSuccess);
  const current = OPERATION_LEAVES.flatMap((leaf): readonly TracedOperation[] => {
    const own = successes.filter((exchange) => isOfOperation(exchange, leaf, contract));
    return own.length === 0 ? [] : [{ leaf, value: contract.leaf(leaf).value, exchanges: own.slice(0, MAX_EXCHANGES) }];
  });
  const isKnown = (exchange: Exchange) => OPERATION_LEAVES.some((leaf) => isOfOperation(exchange, leaf, contract));
  const groups = groupByEndpoint(successes);
  const document = new OpenApiDocument(documentOf(groups, basePath));
  const { matches, ambiguous } = matchOperations(document, endpointsOf(document, basePath));
  const isNew = ({ exchanges: own }: TracedEndpoint): boolean => !own.some(isKnown);
  const isOpen = (leaf: OperationLeaf): boolean => !current.some((operation) => operation.leaf === leaf);
  const groupOf = (endpoint: { readonly method: string; readonly path: string }): TracedEndpoint | undefined =>
    groups.find(({ method, path }) => method === endpoint.method && path === endpoint.path && path !== '');
  const found = matches.flatMap(({ leaf, endpoint, path }): readonly TracedOperation[] => {
    const group = groupOf(endpoint);
    if (group === undefined || !isNew(group) || !isOpen(leaf)) return [];
    return [{ leaf, value: `${endpoint.method} ${path}`, exchanges: group.exchanges.slice(0, MAX_EXCHANGES) }];
  });
  for (const { leaf, endpoints } of ambiguous.filter((each) => isOpen(each.leaf))) {
    for (const endpoint of endpoints) {
      const group = groupOf(endpoint);
      const value = `${endpoint.method} ${endpoint.path}`;
      if (group) evidence.add(leaf, value, `${value}: responded with success`, group.exchanges);
    }
  }
  return [...current, ...found];
}
