import { readAgent } from '../contract/agents.ts';
import { readList } from '../contract/body.ts';
import { readChatSource } from '../contract/chat-source.ts';
import { Contract } from '../contract/contract.ts';
import { readCreatedCronJob, readCronJob } from '../contract/cron.ts';
import { ESSENTIAL, RESOURCE_OF } from '../contract/field-names.ts';
import { fieldsOf } from '../contract/fields.ts';
import { isEmptyObject, isJsonObject, type JsonObject } from '../contract/json.ts';
import { checkLeaf, LeafValueError } from '../contract/leaf-value.ts';
import {
  DEFAULTS,
  isListLeaf,
  LEAF_NAMES,
  type LeafName,
  type ListLeaf,
  OPERATION_NAMES,
  type OperationLeaf,
} from '../contract/leaves.ts';
import { readAcknowledgement, readMessage } from '../contract/messages.ts';
import { readProvisionResponse } from '../contract/provisioning.ts';
import { readSpace } from '../contract/spaces.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { readUploadId } from '../contract/uploads.ts';
import { type OpenApiDocument, openDocument } from './document.ts';
import { type Endpoint, findEndpoints } from './endpoints.ts';
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

/** How the response of each operation is read; of a list, each item. */
const READERS: Readonly<Record<OperationLeaf, (body: JsonObject, contract: Contract) => unknown>> = {
  'spaces.list': readSpace,
  'spaces.provision': readProvisionResponse,
  'agents.list': readAgent,
  'sources.setup': readChatSource,
  'messages.send': readAcknowledgement,
  'messages.history': readMessage,
  'documents.create': (body, contract) => readUploadId(body, 'document', contract),
  'file_attachments.create': (body, contract) => readUploadId(body, 'attachment', contract),
  'cron_jobs.create': readCreatedCronJob,
  'cron_jobs.list': readCronJob,
};

/** Names of authors on neither side of a conversation. */
const NEITHER_SIDE = ['system', 'tool', 'event', 'function', 'notification', 'unknown', 'internal', 'note'];

/** Every response has fewer fields to set. */
const MAX_FIXES = 20;

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
    const name = `${endpoint.method} ${endpoint.path}`;
    const { values, missing, unsent } = matchParameters(this.document, endpoint);
    const filter = unsent.find((value) => value.startsWith('query:'));
    // It lists the jobs of something, and not all: only the state can tell whether one exists.
    if (leaf === 'cron_jobs.list' && filter !== undefined)
      this.propose(leaf, 'none', `${name} requires ${filter}, which the tool does not send`);
    this.propose(leaf, name, name);
    for (const [parameter, value] of values)
      this.propose(parameter, value, `${name}, request${value === 'none' ? ': no further properties' : ''}`);
    for (const each of unsent) this.ask(null, `${name} requires ${each}, which the tool does not send`);
    for (const each of missing) this.ask(each, `${name} has no parameter that looks like ${each}`);
    const example = exampleOf(this.document, endpoint.response);
    const body: unknown = Array.isArray(example.value) ? example.value[0] : example.value;
    if (isListLeaf(leaf)) this.addList(leaf, endpoint, example, name);
    else if (isJsonObject(body) && !isEmptyObject(body)) this.readExample(body, READERS[leaf], `${name}, response`);
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

  private addList(leaf: ListLeaf, endpoint: Endpoint, { value: body, choices }: Example, name: string): void {
    const own = [...this.proposals.values()].filter((each) => each.leaf.startsWith(`${leaf}.`));
    const next = matchNextPage(
      endpoint,
      body,
      own.map(({ value }) => value.replace(/^query:/, '')),
    );
    if (next !== undefined) this.propose(`${leaf}.next`, next, `${name}, response and query`);
    if (body === undefined || isEmptyObject(body)) return;
    const [item] = this.readExample(body, (page) => readList(page, leaf), `${name}, response`) ?? [];
    if (item === undefined) return;
    const path = pathTo(body, item) ?? [];
    this.propose(`${leaf}.items`, path.join('.') || '$', `${name}, response`);
    if (isEmptyObject(item)) return;
    const where = `${name}, items`;
    this.readExample(item, READERS[leaf], where);
    const resource = RESOURCE_OF[leaf];
    const fields = fieldsOf(item, resource, this.contract);
    for (const field of ESSENTIAL.filter((each) => each.startsWith(`${resource}.`))) {
      if (fields.all(field).length === 0) this.ask(field, `${where} has no property that looks like ${field}`);
    }
    if (leaf !== 'messages.history') return;
    const author = [...path, fields.all('message.author')[0]?.path ?? ''].join('.');
    this.addAuthors([...choices].find(([at]) => at === author || at.startsWith(`${author}.`))?.[1] ?? [], where);
  }

  /** The contract of what was proposed so far. */
  private get contract(): Contract {
    const imported = Object.fromEntries([...this.proposals].map(([leaf, { value }]) => [leaf, value]));
    return new Contract({ imported });
  }

  /** Reads a response, and proposes what its refusals say. @returns undefined if it stays unreadable */
  private readExample<Body, Result>(
    body: Body,
    read: (body: Body, contract: Contract) => Result,
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
    if (fix === undefined || fix.other !== undefined || fix.condition !== undefined || /[<>]/.test(fix.value)) {
      const choice = fix?.other === undefined ? '' : ` Set ${fix.leaf} to ${fix.value} or ${fix.other}.`;
      this.ask(fix?.leaf ?? null, `${where}: ${message}${choice}`);
      return false;
    }
    const { leaf } = fix;
    const known = this.proposals.get(leaf)?.value;
    // The id may have its usual name in other responses.
    const value = leaf.endsWith('.id') ? `${fix.value}, ${known ?? DEFAULTS[leaf]}` : fix.value;
    if (known === value || (known !== undefined && !/\.(?:id|at)$/.test(leaf))) return false;
    this.proposals.delete(leaf);
    this.propose(leaf, value, where);
    return this.proposals.has(leaf);
  }

  /** Adds the name of the agent, if the document lists all authors, and no other can be it. */
  private addAuthors(listed: readonly unknown[], where: string): void {
    const [agents, users] = (['message.author.agent', 'message.author.user'] as const).map((leaf) =>
      DEFAULTS[leaf].split(', '),
    );
    const authors = listed.filter((each) => typeof each === 'string').map((each) => each.toLowerCase());
    const others = authors.filter((each) => !users?.includes(each) && !NEITHER_SIDE.includes(each));
    if (others.length === 1 && others.length < authors.length && !agents?.includes(others[0] ?? ''))
      this.propose('message.author.agent', [...(agents ?? []), ...others].join(', '), where);
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
  for (const leaf of OPERATION_NAMES) {
    const [endpoint, other] = findEndpoints(document, leaf, basePath);
    if (endpoint === undefined) missing.push(leaf);
    else if (other === undefined) proposer.addEndpoint(endpoint);
    else proposer.ask(leaf, `the document has several paths for ${leaf}, behind different prefixes`);
  }
  const info = document.resolve(document.root.info);
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value.slice(0, 200) : undefined);
  return {
    title: text(info?.title),
    version: text(info?.version),
    proposals: LEAF_NAMES.flatMap((name) => proposer.proposals.get(name) ?? []),
    missing,
    questions: proposer.questions,
  };
}
