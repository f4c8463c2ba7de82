import { pathOfList, readList } from '../contract/body.ts';
import { Contract } from '../contract/contract.ts';
import { isEmptyObject, isJsonObject, type JsonObject } from '../contract/json.ts';
import { problemOf } from '../contract/leaf-values.ts';
import { DEFAULTS, LEAF_NAMES, type LeafName, mayBeNone } from '../contract/leaves.ts';
import { isListOperation, type ListOperation, OPERATIONS, type Operation } from '../contract/operations.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { shellQuote } from '../platform/text.ts';
import { type Endpoint, findEndpoint, operationsIn } from './endpoints.ts';
import { exampleOf } from './example.ts';
import { matchNextPage, matchPageSize } from './paging.ts';
import { matchParameters } from './parameters.ts';

/** A value for a leaf that a document states. */
export interface Proposal {
  readonly leaf: LeafName;
  readonly value: string;
  /** Where it was found: `GET /automation/spaces/, response`. */
  readonly evidence: string;
}

/** Every response has fewer fields to set. */
const MAX_FIXES = 20;
const MAX_CHOICES = 12;

/** Reads what a document describes. @returns the refusal if it cannot be read */
function attempt<Result>(read: () => Result): Result | UnknownShape {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnknownShape) return error;
    throw error;
  }
}

/** Makes up each response of a document, decodes it, and takes the settings that the decoder asks for. */
class Proposer {
  readonly proposals = new Map<LeafName, Proposal>();
  readonly questions: string[] = [];

  addEndpoint(operation: Operation, endpoint: Endpoint): void {
    const { leaf } = operation;
    const name = `${endpoint.method} ${endpoint.path}`;
    this.propose(leaf, name, name);
    for (const { leaf: parameter, value } of matchParameters(endpoint)) {
      if (typeof value === 'string') this.propose(parameter, value, `${name}, request`);
      else {
        const otherwise = mayBeNone(parameter) ? 'none' : DEFAULTS[parameter].replace(/:.*/, ':<name>');
        this.ask(`${name} has no parameter that is called like ${parameter}`, parameter, value, otherwise);
      }
    }
    const example = exampleOf(endpoint.response);
    const body: unknown = Array.isArray(example) ? example[0] : example;
    if (isListOperation(operation)) this.addList(operation, endpoint, example, name);
    else if (isJsonObject(body) && !isEmptyObject(body))
      this.readExample(body, `${name}, response`, operation, operation.read);
  }

  /** Leaves a value open. @param choices what the document has for it @param otherwise what to say without any */
  ask(why: string, leaf: LeafName, choices: readonly string[], otherwise: string): void {
    const value = choices.length === 0 ? otherwise : `<one of: ${choices.slice(0, MAX_CHOICES).join(', ')}>`;
    this.questions.push(`${why}; run: partnerctl contract set ${leaf} ${shellQuote(value)}`);
  }

  private propose(leaf: LeafName, value: string, evidence: string): void {
    if (problemOf(leaf, value) === undefined) this.proposals.set(leaf, { leaf, value, evidence });
  }

  private addList(operation: ListOperation, endpoint: Endpoint, body: unknown, name: string): void {
    const { leaf } = operation;
    const own = [...this.proposals.values()].filter((each) => each.leaf.startsWith(`${leaf}.`));
    const names = own.map(({ value }) => value.replace(/^query:/, ''));
    const next = matchNextPage(endpoint, body, names);
    if (next !== undefined) this.propose(`${leaf}.next`, next, `${name}, response and query`);
    const size = matchPageSize(endpoint.query);
    if (size !== undefined) this.propose(`${leaf}.size`, size, `${name}, query`);
    if (body === undefined || isEmptyObject(body)) return;
    if (!(attempt(() => readList(body, operation)) instanceof UnknownShape))
      this.propose(`${leaf}.items`, pathOfList(body, operation), `${name}, response`);
    const read = (page: unknown, contract: Contract) => readList(page, operation, contract.items(leaf));
    const [item] = this.readExample(body, `${name}, response`, operation, read) ?? [];
    if (item && !isEmptyObject(item)) this.readExample(item, `${name}, items`, operation, operation.read);
  }

  private contract(): Contract {
    return new Contract({
      imported: Object.fromEntries([...this.proposals].map(([leaf, { value }]) => [leaf, value])),
    });
  }

  /** Reads a response, and proposes what its refusals say. @returns undefined if it stays unreadable */
  private readExample<Body, Result>(
    body: Body,
    where: string,
    { resource }: Operation,
    read: (body: Body, contract: Contract) => Result,
  ): Result | undefined {
    for (let count = 0; count < MAX_FIXES; count += 1) {
      const found = attempt(() => read(body, this.contract()));
      if (!(found instanceof UnknownShape)) return found;
      const { message, seen, fix = { leaf: `${resource}.id`, value: '<path>' } } = found;
      if (fix.other !== undefined || /[<>]/.test(fix.value)) {
        const choices = fix.other === undefined ? [] : [fix.value, fix.other];
        return void this.ask(`${where}: ${message} It is ${seen}`, fix.leaf, choices, fix.value);
      }
      this.propose(fix.leaf, fix.value, where);
    }
    return undefined;
  }
}

/** Returns a value per leaf, and what the document leaves open: the version at `baseUrl`. */
export function proposeFromOpenApi(document: JsonObject, baseUrl: string) {
  const proposer = new Proposer();
  const { proposals, questions } = proposer;
  const free = new Set(operationsIn(document).map(({ method, path }) => `${method} ${path}`));
  const operations: readonly Operation[] = Object.values(OPERATIONS);
  const missing = operations.filter((operation) => {
    const { leaf } = operation;
    const { places, endpoint } = findEndpoint(document, leaf, baseUrl);
    for (const place of places) free.delete(place);
    if (endpoint) proposer.addEndpoint(operation, endpoint);
    else if (places.length > 0)
      proposer.ask(`the document has ${leaf} in several places`, leaf, places, DEFAULTS[leaf]);
    return places.length === 0;
  });
  const [first] = missing;
  if (first) {
    const names = missing.map(({ leaf }) => leaf).join(', ');
    proposer.ask(`the document does not describe ${names}`, first.leaf, [...free], '<METHOD> <path>');
  }
  return { proposals: LEAF_NAMES.flatMap((name) => proposals.get(name) ?? []), questions };
}
