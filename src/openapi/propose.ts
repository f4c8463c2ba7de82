import { pathOfList, readList } from '../contract/body.ts';
import { Contract } from '../contract/contract.ts';
import { descend, isEmptyObject, isJsonObject, type JsonObject } from '../contract/json.ts';
import { problemOf } from '../contract/leaf-values.ts';
import {
  DEFAULTS,
  isListLeaf,
  LEAF_NAMES,
  type LeafName,
  type ListLeaf,
  mayBeNone,
  OPERATION_NAMES,
} from '../contract/leaves.ts';
import { type Operation, operationOf } from '../contract/operations.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { shellQuote } from '../platform/text.ts';
import { type Endpoint, findEndpoint, operationsIn } from './endpoints.ts';
import { exampleOf } from './example.ts';
import { filterOf, matchNextPage, matchPageSize } from './paging.ts';
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

/** Returns the command that settles a question. Its value is to be chosen from what the document has. */
function settle(leaf: LeafName, choices: readonly string[], otherwise: string): string {
  const [, place = ''] = /^(\w+:)/.exec(choices[0] ?? '') ?? [];
  const common = choices.every((each) => each.startsWith(place)) ? place : '';
  const names = choices.slice(0, MAX_CHOICES).map((each) => each.slice(common.length));
  const value = names.length === 0 ? otherwise : `${common}<one of: ${names.join(', ')}>`;
  return `run: partnerctl contract set ${leaf} ${shellQuote(value)}`;
}

/**
 * Reads a document as the program reads the service: each response that it describes is made up and decoded, and where
 * the decoder refuses it with the setting that would help, the document has said that setting.
 */
class Proposer {
  readonly proposals = new Map<LeafName, Proposal>();
  readonly questions: string[] = [];
  readonly warnings: string[] = [];

  addEndpoint(endpoint: Endpoint): void {
    const { leaf } = endpoint;
    const name = `${endpoint.method} ${endpoint.path}`;
    if (leaf === 'cron_jobs.list') this.rejectFilter(endpoint, name);
    this.propose(leaf, name, name);
    for (const { leaf: parameter, value } of matchParameters(endpoint)) {
      if (typeof value === 'string') this.propose(parameter, value, `${name}, request`);
      else {
        const isNone = value.length === 0 && mayBeNone(parameter);
        const command = settle(parameter, value, isNone ? 'none' : DEFAULTS[parameter].replace(/:.*/, ':<name>'));
        const when = isNone ? 'to go on without it' : 'if it has one';
        this.questions.push(`${name} has no parameter that is called like ${parameter}; ${when}, ${command}`);
      }
    }
    const example = exampleOf(endpoint.response);
    const body: unknown = Array.isArray(example) ? example[0] : example;
    if (isListLeaf(leaf)) this.addList(leaf, endpoint, example, name);
    else if (isJsonObject(body) && !isEmptyObject(body))
      this.readExample(body, `${name}, response`, operationOf(leaf), operationOf(leaf).read);
  }

  /** A list of the jobs of something is not that of all: only the state can tell whether one exists. */
  private rejectFilter({ leaf, query }: Endpoint, name: string): void {
    const filter = filterOf(query);
    if (filter === undefined) return;
    this.propose(leaf, 'none', `${name} requires query:${filter.name}`);
    this.warnings.push(
      `${name} requires query:${filter.name}, and so does not list all jobs: ${leaf} becomes none, and only the state guards against a second job. If it lists all jobs with a value of ${filter.name}, run: partnerctl contract set ${leaf} ${shellQuote(`${name}?${filter.name}=<value>`)}`,
    );
  }

  private propose(leaf: LeafName, value: string, evidence: string): void {
    if (this.proposals.has(leaf)) return;
    const problem = problemOf(leaf, value);
    if (problem === undefined) this.proposals.set(leaf, { leaf, value, evidence });
    else {
      const command = settle(leaf, [], DEFAULTS[leaf]);
      this.questions.push(`${evidence} says ${JSON.stringify(value)}, but the value ${problem}; to set it, ${command}`);
    }
  }

  private addList(leaf: ListLeaf, endpoint: Endpoint, body: unknown, name: string): void {
    const own = [...this.proposals.values()].filter((each) => each.leaf.startsWith(`${leaf}.`));
    const names = own.map(({ value }) => value.replace(/^query:/, ''));
    const next = matchNextPage(endpoint, body, names);
    if (next !== undefined) this.propose(`${leaf}.next`, next, `${name}, response and query`);
    const size = matchPageSize(endpoint.query);
    if (size !== undefined) this.propose(`${leaf}.size`, size, `${name}, query`);
    if (body === undefined || isEmptyObject(body)) return;
    const operation = operationOf(leaf);
    const place = this.placeOf(body, operation);
    if (place !== undefined) this.propose(`${leaf}.items`, place, `${name}, response`);
    const read = (page: unknown, contract: Contract) => readList(page, operation, contract.items(leaf));
    const [item] = this.readExample(body, `${name}, response`, operation, read) ?? [];
    if (item && !isEmptyObject(item)) this.readExample(item, `${name}, items`, operation, operation.read);
  }

  /** Returns where the list of a response is: of two lists, the one with items that can be read. */
  private placeOf(body: unknown, operation: Operation & { readonly leaf: ListLeaf }): string | undefined {
    try {
      readList(body, operation);
      return pathOfList(body, operation);
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      const { value = '', other } = error.fix ?? {};
      const right = other === undefined ? [] : [value, other].filter((path) => this.hasItems(body, path, operation));
      return right.length === 1 ? right[0] : undefined;
    }
  }

  /** Whether the list at a path has what is listed, and not messages about the call. */
  private hasItems(body: unknown, path: string, { read }: Operation): boolean {
    const list = descend(body, path);
    const [item]: readonly unknown[] = Array.isArray(list) ? list : [];
    try {
      return isJsonObject(item) && read(item, this.contract()) !== undefined;
    } catch (error) {
      if (error instanceof UnknownShape) return false;
      throw error;
    }
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
      try {
        return read(body, this.contract());
      } catch (error) {
        if (!(error instanceof UnknownShape)) throw error;
        const { message, seen, fix = { leaf: `${resource}.id`, value: '<path>' } } = error;
        const isOpen = fix.other !== undefined || /[<>]/.test(fix.value);
        if (!isOpen && this.adopt(fix.leaf, fix.value, where)) continue;
        const command = settle(fix.leaf, fix.other === undefined ? [] : [fix.value, fix.other], fix.value);
        if (isOpen) this.questions.push(`${where}: ${message} It is ${seen}; to say where it is, ${command}`);
        return undefined;
      }
    }
    return undefined;
  }

  /** Proposes the setting of a refusal. @returns whether it is new */
  private adopt(leaf: LeafName, found: string, where: string): boolean {
    const known = this.proposals.get(leaf)?.value;
    // The id may have its usual name in other responses.
    const names = [found, ...(leaf.endsWith('.id') ? [known ?? DEFAULTS[leaf]] : [])];
    const value = [...new Set(names.flatMap((each) => each.split(/, */)))].join(', ');
    if (known === value || (known !== undefined && !/\.(?:id|at)$/.test(leaf))) return false;
    this.proposals.delete(leaf);
    this.propose(leaf, value, where);
    return this.proposals.has(leaf);
  }
}

/**
 * Derives what a document without references determines.
 * @param baseUrl of the service: of two versions in one document, its own is read
 * @returns a value per leaf, in order; what the document leaves open, with the commands that settle it; and what it
 *   turns off
 */
export function proposeFromOpenApi(document: JsonObject, baseUrl: string) {
  const proposer = new Proposer();
  const { proposals, questions, warnings } = proposer;
  const found = OPERATION_NAMES.map((leaf) => ({ leaf, endpoint: findEndpoint(document, leaf, baseUrl) }));
  const used = found.flatMap(({ endpoint }) => ('place' in endpoint ? endpoint.place : endpoint));
  const missing: LeafName[] = [];
  for (const { leaf, endpoint } of found) {
    if ('place' in endpoint) proposer.addEndpoint(endpoint);
    else if (endpoint.length === 0) missing.push(leaf);
    else
      questions.push(
        `the document has ${leaf} in several places; to choose one, ${settle(leaf, endpoint, DEFAULTS[leaf])}`,
      );
  }
  const [first] = missing;
  if (first !== undefined) {
    const others = operationsIn(document).map(({ method, path }) => `${method} ${path}`);
    const free = others.filter((each) => !used.includes(each));
    questions.push(
      `the document does not describe ${missing.join(', ')}; if one is under another path, ${settle(first, free, '<METHOD> <path>')}`,
    );
  }
  return { proposals: LEAF_NAMES.flatMap((name) => proposals.get(name) ?? []), questions, warnings };
}
