import { readAgent } from '../contract/agents.ts';
import { readList } from '../contract/body.ts';
import { readChatSource } from '../contract/chat-source.ts';
import { checkLeaf } from '../contract/check-leaf.ts';
import { Contract } from '../contract/contract.ts';
import { readCreatedCronJob, readCronJob } from '../contract/cron.ts';
import { ESSENTIAL, RESOURCE_OF } from '../contract/field-names.ts';
import { fieldsOf } from '../contract/fields.ts';
import { isEmptyObject, isJsonObject, type JsonObject } from '../contract/json.ts';
import { LeafValueError } from '../contract/leaf-value.ts';
import { isLeafName, LEAVES, type LeafName, type ListLeaf, type OperationLeaf } from '../contract/leaves.ts';
import { readAcknowledgement, readMessage } from '../contract/messages.ts';
import { readProvisionResponse } from '../contract/provisioning.ts';
import { readSpace } from '../contract/spaces.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { readUploadId } from '../contract/uploads.ts';
import { type OpenApiDocument, openDocument } from './document.ts';
import { type Endpoint, findEndpoints, OPERATION_LEAVES } from './endpoints.ts';
import { type Example, exampleOf } from './example.ts';
import { matchNextPage } from './paging.ts';
import { matchParameters } from './parameters.ts';

/** A value for a leaf that a document states. */
export interface Proposal {
  readonly leaf: LeafName;
  readonly value: string;
  /** Where it was found: `GET /automation/spaces/, response`. */
  readonly evidence: string;
}

/** Something that a document leaves open, or that the tool cannot do. */
interface OpenQuestion {
  /** The leaf to set; null if no leaf helps. */
  readonly leaf: LeafName | null;
  readonly message: string;
}

/** The contract values in a document. */
export interface DocumentProposals {
  readonly title: string | undefined;
  readonly version: string | undefined;
  /** One value per leaf, in the order of the catalog. */
  readonly proposals: readonly Proposal[];
  /** The operations that were not found in the document. */
  readonly missing: readonly OperationLeaf[];
  readonly questions: readonly OpenQuestion[];
}

type Read = (value: unknown, contract: Contract) => unknown;

/** How the response of each operation is read; of a list, each item. */
const READERS: Readonly<Record<OperationLeaf, Read>> = {
  'spaces.list': ifObject(readSpace),
  'spaces.provision': readProvisionResponse,
  'agents.list': ifObject(readAgent),
  'sources.setup': readChatSource,
  'messages.send': readAcknowledgement,
  'messages.history': ifObject(readMessage),
  'documents.create': (body, contract) => readUploadId(body, 'document', contract),
  'file_attachments.create': (body, contract) => readUploadId(body, 'attachment', contract),
  'cron_jobs.create': readCreatedCronJob,
  'cron_jobs.list': ifObject(readCronJob),
};

/** Names of authors on neither side of a conversation. */
const NEITHER_SIDE = ['system', 'tool', 'event', 'function', 'notification', 'unknown', 'internal', 'note'];

/** Every response has fewer fields to set. */
const MAX_FIXES = 20;

function ifObject(read: (item: JsonObject, contract: Contract) => unknown): Read {
  return (item, contract) => (isJsonObject(item) ? read(item, contract) : undefined);
}

function isListLeaf(leaf: OperationLeaf): leaf is ListLeaf {
  return `${leaf}.items` in LEAVES;
}

function nameOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

/**
 * Reads a document as the program reads the service: each response that it describes is made up and decoded, and where the
 * decoder refuses it with the setting that would help, the document has said that setting.
 */
class Proposer {
  readonly proposals = new Map<LeafName, Proposal>();
  readonly questions: OpenQuestion[] = [];
  private readonly document: OpenApiDocument;

  constructor(document: OpenApiDocument) {
    this.document = document;
  }

  addEndpoint(endpoint: Endpoint): void {
    const { leaf } = endpoint;
    const { values, missing, unsent } = matchParameters(this.document, endpoint);
    const [filter] = unsent.filter((value) => value.startsWith('query:'));
    // It lists the jobs of something, and not all: only the state can tell whether one exists.
    if (leaf === 'cron_jobs.list' && filter !== undefined)
      this.propose(leaf, 'none', `${nameOf(endpoint)} requires ${filter}, which the tool does not send`);
    this.propose(leaf, nameOf(endpoint), nameOf(endpoint));
    for (const [name, value] of values) {
      const why = value === 'none' ? ': no further properties' : '';
      this.propose(name, value, `${nameOf(endpoint)}, request${why}`);
    }
    for (const name of unsent) this.ask(null, `${nameOf(endpoint)} requires ${name}, which the tool does not send`);
    for (const name of missing) this.ask(name, `${nameOf(endpoint)} has no parameter that looks like ${name}`);
    const example = exampleOf(this.document, endpoint.response);
    if (isListLeaf(leaf)) this.addList(leaf, endpoint, example);
    else if (example.value !== undefined && !isEmptyObject(example.value))
      this.readExample(example.value, READERS[leaf], `${nameOf(endpoint)}, response`);
  }

  ask(leaf: LeafName | null, message: string): void {
    this.questions.push({ leaf, message });
  }

  private propose(leaf: LeafName, value: string, evidence: string): void {
    if (this.proposals.has(leaf)) return;
    try {
      checkLeaf(leaf, value);
      this.proposals.set(leaf, { leaf, value, evidence });
    } catch (error) {
      if (!(error instanceof LeafValueError)) throw error;
      this.ask(leaf, `${evidence} says ${JSON.stringify(value)}, but the value ${error.message}`);
    }
  }

  private addList(leaf: ListLeaf, endpoint: Endpoint, { value: body, choices }: Example): void {
    const where = `${nameOf(endpoint)}, response`;
    const own = [...this.proposals.values()]
      .filter(({ leaf: name, value }) => name.startsWith(`${leaf}.`) && value.startsWith('query:'))
      .map(({ value }) => value.slice('query:'.length));
    const next = matchNextPage(endpoint, body, own);
    if (next !== undefined) this.propose(`${leaf}.next`, next, `${where} and query`);
    if (body === undefined || isEmptyObject(body)) return;
    const [item] = this.readExample(body, (page) => readList(page, leaf), where) ?? [];
    if (item === undefined) return;
    const path = pathTo(body, item);
    if (path) this.propose(`${leaf}.items`, path.length === 0 ? '$' : path.join('.'), where);
    if (isEmptyObject(item)) return;
    this.readExample(item, READERS[leaf], `${nameOf(endpoint)}, items`);
    this.askForEssential(leaf, item, `${nameOf(endpoint)}, items`);
    if (leaf === 'messages.history') this.addAuthors(item, path ?? [], choices, `${nameOf(endpoint)}, items`);
  }

  /** The contract of what was proposed so far. */
  private get contract(): Contract {
    return new Contract({
      imported: Object.fromEntries([...this.proposals].map(([leaf, { value }]) => [leaf, value])),
    });
  }

  /** Reads a response, and proposes what its refusals say. @returns undefined if it stays unreadable */
  private readExample<Result>(
    body: unknown,
    read: (body: unknown, contract: Contract) => Result,
    where: string,
  ): Result | undefined {
    for (let count = 0; count < MAX_FIXES; count += 1) {
      try {
        return read(body, this.contract);
      } catch (error) {
        if (!(error instanceof UnknownShape)) throw error;
        if (!this.adopt(error, where)) return undefined;
      }
    }
    return undefined;
  }

  /** Proposes the setting of a refusal; asks if it does not know it. @returns whether there is a new proposal */
  private adopt({ message, fix }: UnknownShape, where: string): boolean {
    const known = fix && this.proposals.get(fix.leaf)?.value;
    if (fix === undefined || fix.other !== undefined || fix.condition !== undefined || /[<>]/.test(fix.value)) {
      const choice = fix?.other === undefined ? '' : ` Set ${fix.leaf} to ${fix.value} or ${fix.other}.`;
      this.ask(fix?.leaf ?? null, `${where}: ${message}${choice}`);
      return false;
    }
    const { leaf } = fix;
    // The id may have its usual name in other responses.
    const value = leaf.endsWith('.id') ? `${fix.value}, ${known ?? LEAVES[leaf].value}` : fix.value;
    if (known === value || (known !== undefined && !/\.(?:id|at)$/.test(leaf))) return false;
    this.proposals.delete(leaf);
    this.propose(leaf, value, where);
    return this.proposals.has(leaf);
  }

  private askForEssential(list: ListLeaf, item: JsonObject, where: string): void {
    const resource = RESOURCE_OF[list];
    const fields = fieldsOf(item, resource, this.contract);
    for (const leaf of ESSENTIAL.filter((each) => each.startsWith(`${resource}.`))) {
      if (fields.all(leaf).length === 0) this.ask(leaf, `${where} has no property that looks like ${leaf}`);
    }
  }

  /** Adds the name of the agent, if the document lists all authors, and no other can be it. */
  private addAuthors(item: JsonObject, list: readonly string[], choices: Example['choices'], where: string): void {
    const agents = LEAVES['message.author.agent'].value.split(', ');
    const users: readonly string[] = LEAVES['message.author.user'].value.split(', ');
    const [author] = fieldsOf(item, 'message', this.contract).all('message.author');
    const path = [...list, author?.path ?? ''].join('.');
    const listed = [...choices].find(([at]) => at === path || at.startsWith(`${path}.`))?.[1] ?? [];
    const authors = listed.filter((each) => typeof each === 'string').map((each) => each.toLowerCase());
    const others = authors.filter((each) => !users.includes(each) && !NEITHER_SIDE.includes(each));
    if (others.length === 1 && others.length < authors.length && !agents.includes(others[0] ?? ''))
      this.propose('message.author.agent', [...agents, ...others].join(', '), where);
  }
}

/** Returns the keys that lead to the list with an item, or to its edges. */
function pathTo(value: unknown, item: JsonObject): readonly string[] | undefined {
  if (Array.isArray(value))
    return value.some((each) => each === item || (isJsonObject(each) && each.node === item)) ? [] : undefined;
  for (const [key, inner] of isJsonObject(value) ? Object.entries(value) : []) {
    const path = pathTo(inner, item);
    if (path) return [key, ...path];
  }
  return undefined;
}

/**
 * Derives contract values from an OpenAPI 3.0 or 3.1 document (spec §4.7, §9). The result has only leaves that the document
 * determines.
 * @param parsed the parsed document
 * @param basePath the path of the service's base URL, such as `/v1`
 * @throws OpenApiError if the document cannot be used
 */
export async function proposeFromOpenApi(parsed: unknown, basePath: string): Promise<DocumentProposals> {
  const document = await openDocument(parsed);
  const proposer = new Proposer(document);
  const missing: OperationLeaf[] = [];
  for (const leaf of OPERATION_LEAVES) {
    const endpoints = findEndpoints(document, leaf, basePath);
    const [endpoint] = endpoints;
    if (endpoint === undefined) missing.push(leaf);
    else if (endpoints.length === 1) proposer.addEndpoint(endpoint);
    else proposer.ask(leaf, `the document has several paths for ${leaf}, behind different prefixes`);
  }
  const info = document.resolve(document.root.info);
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value.slice(0, 200) : undefined);
  return {
    title: text(info?.title),
    version: text(info?.version),
    proposals: Object.keys(LEAVES).flatMap((name) => (isLeafName(name) ? (proposer.proposals.get(name) ?? []) : [])),
    missing,
    questions: proposer.questions,
  };
}
