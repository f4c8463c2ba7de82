import { checkLeaf } from '../contract/check-leaf.ts';
import { LeafValueError } from '../contract/leaf-value.ts';
import {
  type FieldLeaf,
  isLeafName,
  LEAVES,
  type LeafName,
  type ListLeaf,
  type OperationLeaf,
} from '../contract/leaves.ts';
import { type OpenApiDocument, openDocument } from './document.ts';
import { type Endpoint, findEndpoints, OPERATION_LEAVES } from './endpoints.ts';
import type { Resource } from './names.ts';
import { matchNextPage } from './paging.ts';
import { matchParameters } from './parameters.ts';
import { authorsOf, matchFields, matchItems, unwrapResource } from './response.ts';
import { isOpen, type Shape } from './schema.ts';

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

const SESSION = 'messages.history.session_id';

/** Fields that commands need. */
const ESSENTIAL: readonly FieldLeaf[] = [
  'space.id',
  'space.external_space_id',
  'agent.id',
  'agent.name',
  'source.id',
  'message.id',
  'message.text',
  'message.author',
  'cron_job.id',
  'cron_job.agent_id',
  'cron_job.name',
  'document.id',
  'file_attachment.id',
];

const LISTED: Readonly<Record<ListLeaf, Resource>> = {
  'spaces.list': 'space',
  'agents.list': 'agent',
  'messages.history': 'message',
  'cron_jobs.list': 'cron_job',
};

const CREATED: Partial<Record<OperationLeaf, Resource>> = {
  'sources.setup': 'source',
  'documents.create': 'document',
  'file_attachments.create': 'file_attachment',
};

/** Names of authors on neither side of a conversation. */
const NEITHER_SIDE = ['system', 'tool', 'event', 'function', 'notification', 'unknown', 'internal', 'note'];

function isListLeaf(leaf: OperationLeaf): leaf is ListLeaf {
  return Object.hasOwn(LISTED, leaf);
}

function nameOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

class Proposer {
  readonly proposals = new Map<LeafName, Proposal>();
  readonly questions: OpenQuestion[] = [];
  private readonly document: OpenApiDocument;

  constructor(document: OpenApiDocument) {
    this.document = document;
  }

  addEndpoint(endpoint: Endpoint): void {
    const id = endpoint.operationId === '' ? '' : ` (${endpoint.operationId})`;
    this.propose(endpoint.leaf, nameOf(endpoint), `${nameOf(endpoint)}${id}`);
    const missing = this.addParameters(endpoint);
    const { leaf, response } = endpoint;
    const message = isListLeaf(leaf) ? this.addList(leaf, endpoint) : undefined;
    for (const each of missing) {
      if (each === SESSION && message !== undefined && this.namesSession(message)) {
        this.propose(SESSION, 'none', `${nameOf(endpoint)}, request: no such parameter; each message names it`);
      } else this.ask(each, `${nameOf(endpoint)} has no parameter that looks like ${each}`);
    }
    const created = CREATED[leaf];
    if (created !== undefined && response !== undefined) {
      this.addFields(created, unwrapResource(this.document, created, response), `${nameOf(endpoint)}, response`);
    }
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

  /** Returns the parameters that were not found. */
  private addParameters(endpoint: Endpoint) {
    const { values, missing, unknown } = matchParameters(this.document, endpoint);
    for (const [leaf, value] of values) {
      const why = value === 'none' ? ': no further properties' : '';
      this.propose(leaf, value, `${nameOf(endpoint)}, request${why}`);
    }
    for (const name of unknown) this.ask(null, `${nameOf(endpoint)} requires ${name}, which the tool does not send`);
    return missing;
  }

  /** Returns the schema of the items. */
  private addList(leaf: ListLeaf, endpoint: Endpoint): Shape | undefined {
    const { response } = endpoint;
    const items = response && matchItems(this.document, leaf, response);
    const where = `${nameOf(endpoint)}, response`;
    if (items) this.propose(`${leaf}.items`, items.value, where);
    else if (response) this.ask(`${leaf}.items`, `${where} has no list that looks like the items`);
    const own = [...this.proposals.values()]
      .filter(({ leaf: name, value }) => name.startsWith(`${leaf}.`) && value.startsWith('query:'))
      .map(({ value }) => value.slice('query:'.length));
    const next = matchNextPage(this.document, endpoint, own);
    if (next !== undefined) this.propose(`${leaf}.next`, next, `${nameOf(endpoint)}, response and query`);
    if (items) this.addFields(LISTED[leaf], items.shape, `${nameOf(endpoint)}, items`);
    return items?.shape;
  }

  private namesSession(message: Shape): boolean {
    const fields = matchFields(this.document, 'message', message);
    return fields.some(({ leaf, path }) => leaf === 'message.session_id' && path !== undefined);
  }

  private addFields(resource: Resource, shape: Shape, where: string): void {
    if (shape.properties.size === 0) return;
    for (const { leaf, path, isDefault } of matchFields(this.document, resource, shape)) {
      if (path === undefined && ESSENTIAL.includes(leaf) && !isOpen(shape))
        this.ask(leaf, `${where} has no property that looks like ${leaf}`);
      if (path === undefined || isDefault) continue;
      // The id may have its usual name in other responses.
      const others = leaf.endsWith('.id') ? `, ${LEAVES[leaf].value}` : '';
      this.propose(leaf, `${path.join('.')}${others}`, where);
    }
    if (resource === 'message') this.addAuthors(shape, where);
  }

  /** Adds the name of the agent, if the document lists all authors, and no other can be it. */
  private addAuthors(message: Shape, where: string): void {
    const agents = LEAVES['message.author.agent'].value.split(', ');
    const users: readonly string[] = LEAVES['message.author.user'].value.split(', ');
    const authors = authorsOf(this.document, message);
    const others = authors.filter((author) => !users.includes(author) && !NEITHER_SIDE.includes(author));
    if (others.length === 1 && others.length < authors.length && !agents.includes(others[0] ?? '')) {
      this.propose('message.author.agent', [...agents, ...others].join(', '), where);
    }
  }
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
