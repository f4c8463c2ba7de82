import { pathOfList, readList } from '../contract/body.ts';
import { Contract, problemOf } from '../contract/contract.ts';
import { isEmptyObject, isJsonObject, type JsonObject } from '../contract/json.ts';
import { isListLeaf, LEAF_NAMES, type LeafName, type ListLeaf, OPERATION_NAMES } from '../contract/leaves.ts';
import { operationOf } from '../contract/operations.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { type Endpoint, findEndpoint } from './endpoints.ts';
import { exampleOf } from './example.ts';
import { matchNextPage } from './paging.ts';
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

/**
 * Reads a document as the program reads the service: each response that it describes is made up and decoded, and where
 * the decoder refuses it with the setting that would help, the document has said that setting.
 */
class Proposer {
  readonly proposals = new Map<LeafName, Proposal>();
  readonly questions: string[] = [];

  addEndpoint(endpoint: Endpoint): void {
    const { leaf } = endpoint;
    const name = `${endpoint.method} ${endpoint.path}`;
    const filter = endpoint.query.find(({ isRequired }) => isRequired);
    // It lists the jobs of something, and not all: only the state can tell whether one exists.
    if (leaf === 'cron_jobs.list' && filter) this.propose(leaf, 'none', `${name} requires query:${filter.name}`);
    this.propose(leaf, name, name);
    for (const [parameter, value] of matchParameters(endpoint)) {
      if (value === undefined) this.questions.push(`${name} has no parameter that looks like ${parameter}`);
      else this.propose(parameter, value, `${name}, request`);
    }
    const example = exampleOf(endpoint.response);
    const body: unknown = Array.isArray(example) ? example[0] : example;
    if (isListLeaf(leaf)) this.addList(leaf, endpoint, example, name);
    else if (isJsonObject(body) && !isEmptyObject(body))
      this.readExample(body, operationOf(leaf).read, `${name}, response`);
  }

  private propose(leaf: LeafName, value: string, evidence: string): void {
    if (this.proposals.has(leaf)) return;
    const problem = problemOf(leaf, value);
    if (problem === undefined) this.proposals.set(leaf, { leaf, value, evidence });
    else this.questions.push(`${evidence} says ${JSON.stringify(value)}, but the value ${problem}`);
  }

  private addList(leaf: ListLeaf, endpoint: Endpoint, body: unknown, name: string): void {
    const operation = operationOf(leaf);
    const own = [...this.proposals.values()].filter((each) => each.leaf.startsWith(`${leaf}.`));
    const names = own.map(({ value }) => value.replace(/^query:/, ''));
    const next = matchNextPage(endpoint, body, names);
    if (next !== undefined) this.propose(`${leaf}.next`, next, `${name}, response and query`);
    if (body === undefined || isEmptyObject(body)) return;
    const read = (page: unknown, contract: Contract) => readList(page, operation, contract.items(leaf));
    const [item] = this.readExample(body, read, `${name}, response`) ?? [];
    if (item === undefined) return;
    this.propose(`${leaf}.items`, pathOfList(body, operation), `${name}, response`);
    if (!isEmptyObject(item)) this.readExample(item, operation.read, `${name}, items`);
  }

  /** Reads a response, and proposes what its refusals say. @returns undefined if it stays unreadable */
  private readExample<Body, Result>(
    body: Body,
    read: (body: Body, contract: Contract) => Result,
    where: string,
  ): Result | undefined {
    for (let count = 0; count < MAX_FIXES; count += 1) {
      const imported = Object.fromEntries([...this.proposals].map(([leaf, { value }]) => [leaf, value]));
      try {
        return read(body, new Contract({ imported }));
      } catch (error) {
        if (!(error instanceof UnknownShape)) throw error;
        if (!this.adopt(error, where)) return undefined;
      }
    }
    return undefined;
  }

  /** Proposes the setting of a refusal; asks if it does not know it. @returns whether there is a new proposal */
  private adopt({ message, fix }: UnknownShape, where: string): boolean {
    if (fix === undefined || fix.other !== undefined || /[<>]/.test(fix.value)) {
      const choice = fix?.other === undefined ? '' : ` Set ${fix.leaf} to ${fix.value} or ${fix.other}.`;
      this.questions.push(`${where}: ${message}${choice}`);
      return false;
    }
    const { leaf, value } = fix;
    if (this.proposals.get(leaf)?.value === value) return false;
    this.proposals.delete(leaf);
    this.propose(leaf, value, where);
    return this.proposals.has(leaf);
  }
}

/** Derives what a document without references determines: a value per leaf, in order, and what it leaves open. */
export function proposeFromOpenApi(document: JsonObject) {
  const proposer = new Proposer();
  const endpoints = OPERATION_NAMES.map((leaf) => findEndpoint(document, leaf) ?? leaf);
  const missing = endpoints.filter((each) => typeof each === 'string').join(', ');
  if (missing)
    proposer.questions.push(`the document does not describe these operations, or more than once: ${missing}`);
  for (const endpoint of endpoints) if (typeof endpoint !== 'string') proposer.addEndpoint(endpoint);
  const { proposals, questions } = proposer;
  return { proposals: LEAF_NAMES.flatMap((name) => proposals.get(name) ?? []), questions };
}
