import { checkLeaf, OMITTABLE } from '../check-leaf.ts';
import { LeafValueError } from '../leaf-value.ts';
import { type FieldLeaf, LEAVES, type LeafName, type ListLeaf, type OperationLeaf } from '../leaves.ts';
import type { OpenQuestion, Proposal } from '../proposal.ts';
import { type OpenApiDocument, openDocument } from './document.ts';
import { type Endpoint, endpointsOf } from './endpoints.ts';
import { matchAgentValues, matchFields, type ResourceName, unwrapResource } from './match-fields.ts';
import { type MatchedItems, matchItems } from './match-items.ts';
import { matchNextPage } from './match-next-page.ts';
import { type MatchedOperation, matchOperations, OPERATION_LEAVES } from './match-operations.ts';
import { matchParameters } from './match-parameters.ts';
import type { Shape } from './shape.ts';

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

function isListLeaf(leaf: string): leaf is ListLeaf {
  return leaf === 'spaces.list' || leaf === 'agents.list' || leaf === 'messages.history' || leaf === 'cron_jobs.list';
}

function nameOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

class Proposer {
  readonly proposals = new Map<LeafName, Proposal>();
  readonly questions: OpenQuestion[] = [];
  private isSessionMissing = false;
  private readonly document: OpenApiDocument;

  constructor(document: OpenApiDocument) {
    this.document = document;
  }

  propose(leaf: LeafName, value: string, evidence: string): void {
    if (this.proposals.has(leaf)) return;
    try {
      checkLeaf(leaf, value);
      this.proposals.set(leaf, { leaf, value, evidence });
    } catch (error) {
      if (!(error instanceof LeafValueError)) throw error;
      this.ask(leaf, `${evidence} says ${JSON.stringify(value)}, but the value ${error.message}`);
    }
  }

  ask(leaf: LeafName | null, message: string): void {
    this.questions.push({ leaf, message });
  }

  addOperation(matched: MatchedOperation): void {
    const { leaf, endpoint, path } = matched;
    const id = endpoint.operationId === '' ? '' : ` (${endpoint.operationId})`;
    this.propose(leaf, `${endpoint.method} ${path}`, `${nameOf(endpoint)}${id}`);
    this.addParameters(matched);
  }

  private addParameters(matched: MatchedOperation): void {
    const { endpoint } = matched;
    const { matches, missing, unknown } = matchParameters(this.document, matched);
    for (const { leaf, value } of matches) this.propose(leaf, value, `${nameOf(endpoint)}, request`);
    const body = (endpoint.form ?? endpoint.json)?.shape;
    const isDescribed = (body?.properties.size ?? 0) > 0 || (endpoint.method === 'GET' && matches.length > 0);
    for (const leaf of isDescribed ? missing : []) {
      if (OMITTABLE.includes(leaf)) {
        if (body?.isClosed) this.propose(leaf, 'none', `${nameOf(endpoint)}, request: no further properties`);
      } else if (leaf === SESSION) this.isSessionMissing = true;
      else this.askForParameter(leaf, endpoint);
    }
    for (const name of unknown) {
      this.ask(null, `${nameOf(endpoint)} requires ${name}, which the tool does not send`);
    }
  }

  private askForParameter(leaf: LeafName, endpoint: Endpoint): void {
    this.ask(leaf, `${nameOf(endpoint)} has no parameter that looks like ${leaf}`);
  }

  /** Adds that the history has no parameter for the session, if its messages name their session. */
  addSession(endpoint: Endpoint, message: Shape | undefined): void {
    if (!this.isSessionMissing) return;
    const fields = message ? matchFields(this.document, 'message', message) : [];
    const isNamed = fields.some(({ leaf, path }) => leaf === 'message.session_id' && path !== undefined);
    if (isNamed)
      this.propose(SESSION, 'none', `${nameOf(endpoint)}, request: no such parameter; each message names it`);
    else this.askForParameter(SESSION, endpoint);
  }

  /** @param own the query parameters that are not for paging */
  addList(leaf: ListLeaf, endpoint: Endpoint, own: readonly string[]): MatchedItems | undefined {
    const items = matchItems(this.document, leaf, endpoint.response);
    const where = `${nameOf(endpoint)}, response`;
    if (items) this.propose(`${leaf}.items`, items.value, where);
    else if (endpoint.response) this.ask(`${leaf}.items`, `${where} has no list that looks like the items`);
    const next = matchNextPage(this.document, endpoint, own);
    if (next !== undefined) this.propose(`${leaf}.next`, next, `${nameOf(endpoint)}, response and query`);
    return items;
  }

  addFields(resource: ResourceName, shape: Shape, where: string): void {
    if (shape.properties.size === 0) return;
    for (const { leaf, path, isDefault } of matchFields(this.document, resource, shape)) {
      if (isDefault) continue;
      if (path === undefined) {
        if (ESSENTIAL.includes(leaf)) this.ask(leaf, `${where} has no property that looks like ${leaf}`);
      } else {
        // The id may have its usual name in other responses.
        const others = leaf.endsWith('.id') ? `, ${LEAVES[leaf].value}` : '';
        this.propose(leaf, `${path.join('.')}${others}`, where);
      }
    }
    const agents = resource === 'message' ? matchAgentValues(this.document, shape) : undefined;
    if (agents)
      this.propose('message.author.agent', [LEAVES['message.author.agent'].value, ...agents].join(', '), where);
  }

  addResponse(resource: ResourceName, endpoint: Endpoint | undefined): void {
    if (endpoint?.response === undefined) return;
    this.addFields(
      resource,
      unwrapResource(this.document, resource, endpoint.response.shape),
      `${nameOf(endpoint)}, response`,
    );
  }
}

const LISTED: Readonly<Record<ListLeaf, ResourceName>> = {
  'spaces.list': 'space',
  'agents.list': 'agent',
  'messages.history': 'message',
  'cron_jobs.list': 'cron_job',
};

function addLists(proposer: Proposer, found: readonly MatchedOperation[]): void {
  for (const { leaf, endpoint } of found) {
    if (!isListLeaf(leaf)) continue;
    const own = [...proposer.proposals.values()]
      .filter(({ leaf: name, value }) => name.startsWith(`${leaf}.`) && value.startsWith('query:'))
      .map(({ value }) => value.slice('query:'.length));
    const items = proposer.addList(leaf, endpoint, own);
    if (leaf === 'messages.history') proposer.addSession(endpoint, items?.shape);
    if (items) proposer.addFields(LISTED[leaf], items.shape, `${nameOf(endpoint)}, items`);
  }
}

/**
 * Derives contract values from an OpenAPI 3.0 or 3.1 document. The result has only leaves that the document determines.
 * @param parsed the parsed document
 * @param basePath the path of the service's base URL, such as `/v1`
 * @throws OpenApiError if the document cannot be used
 */
export function proposeFromOpenApi(parsed: unknown, basePath: string): DocumentProposals {
  const document = openDocument(parsed);
  const { matches, ambiguous } = matchOperations(document, endpointsOf(document, basePath));
  const proposer = new Proposer(document);
  const endpointOf = (leaf: MatchedOperation['leaf']) => matches.find((match) => match.leaf === leaf)?.endpoint;
  for (const matched of matches) proposer.addOperation(matched);
  for (const { leaf, endpoints } of ambiguous) {
    proposer.ask(leaf, `${endpoints.map(nameOf).join(' and ')} both look like ${leaf}`);
  }
  addLists(proposer, matches);
  proposer.addResponse('source', endpointOf('sources.setup'));
  proposer.addResponse('document', endpointOf('documents.create'));
  proposer.addResponse('file_attachment', endpointOf('file_attachments.create'));
  const failing = matches.find(({ endpoint }) => endpoint.errorResponse !== undefined)?.endpoint;
  if (failing?.errorResponse)
    proposer.addFields('error', failing.errorResponse.shape, `${nameOf(failing)}, error response`);
  const isFound = (leaf: OperationLeaf): boolean =>
    matches.some((match) => match.leaf === leaf) || ambiguous.some((other) => other.leaf === leaf);
  const info = document.resolve(document.root.info);
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value.slice(0, 200) : undefined);
  return {
    title: text(info?.title),
    version: text(info?.version),
    proposals: Object.keys(LEAVES).flatMap((name) =>
      [...proposer.proposals.values()].filter(({ leaf }) => leaf === name),
    ),
    missing: OPERATION_LEAVES.filter((leaf) => !isFound(leaf)),
    questions: proposer.questions,
  };
}
