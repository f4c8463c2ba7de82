import { readIdOf } from './body.ts';
import type { Contract } from './contract.ts';
import type { Resource } from './field-names.ts';
import type { JsonObject } from './json.ts';
import type { ListLeaf, OperationLeaf } from './leaves.ts';
import { readAcknowledgement, readMessage } from './messages.ts';
import { readAgent, readChatSource, readCronJob, readProvisionResponse, readSpace } from './resources.ts';

/**
 * Whether a call may be retried after its request may have left this machine: `safe` for reads, `idempotent` for writes
 * that the service deduplicates, `once` for writes that must not be retried.
 */
export type Safety = 'safe' | 'idempotent' | 'once';

/** The methods that `partnerctl api` accepts. */
export const HTTP_METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type HttpMethod = (typeof HTTP_METHODS)[number];

/** The description of one API call. The contract has its method and path. */
export interface Operation {
  readonly name: string;
  readonly leaf: OperationLeaf;
  readonly safety: Safety;
  /** What it lists or creates. */
  readonly resource: Resource;
  /** The token scope that it needs (spec §5.3). The spec names three of them, and describes the others. */
  readonly scope: string;
  /** The list as errors and checks call it. */
  readonly what?: string;
  /** Reads its response; of a list, each item. @throws UnknownShape */
  readonly read: (body: JsonObject, contract: Contract) => unknown;
}

/** An operation whose response is a list. */
export type ListOperation = Operation & { readonly leaf: ListLeaf; readonly what: string };

/** A call that is not part of the contract, as a user typed it. */
export interface RawOperation {
  /** The method and the path: `POST /automation/spaces/`. */
  readonly name: string;
  readonly leaf?: undefined;
  readonly safety: Safety;
  readonly request: {
    readonly method: HttpMethod;
    /** Path and query, starting with the base path. */
    readonly path: string;
    /** Replace the default headers. Names in lower case. */
    readonly headers: Readonly<Record<string, string>>;
    /** The body, sent as it is. */
    readonly text?: string | undefined;
  };
}

/** The operations of the tool. Their safety (spec §4.6) is declared only here. */
export const OPERATIONS = {
  listSpaces: {
    name: 'listSpaces',
    leaf: 'spaces.list',
    safety: 'safe',
    resource: 'space',
    scope: 'spaces.read',
    what: 'the list of spaces',
    read: readSpace,
  },
  listAgents: {
    name: 'listAgents',
    leaf: 'agents.list',
    safety: 'safe',
    resource: 'agent',
    scope: 'agents.read',
    what: 'the agents of a space',
    read: readAgent,
  },
  provisionSpace: {
    name: 'provisionSpace',
    leaf: 'spaces.provision',
    // Spec §4.1 declares it idempotent for the space, but services may install the agents again on every POST.
    safety: 'once',
    resource: 'space',
    scope: 'the one for provisioning',
    read: readProvisionResponse,
  },
  createChatSource: {
    name: 'createChatSource',
    leaf: 'sources.setup',
    safety: 'idempotent',
    resource: 'source',
    scope: 'the one for API chat setup',
    read: readChatSource,
  },
  registerMessage: {
    name: 'registerMessage',
    leaf: 'messages.send',
    safety: 'idempotent',
    resource: 'message',
    scope: 'the one for API chat runtime',
    read: readAcknowledgement,
  },
  readHistory: {
    name: 'readHistory',
    leaf: 'messages.history',
    safety: 'safe',
    resource: 'message',
    scope: 'the one for API chat runtime',
    what: 'the history of a session',
    read: readMessage,
  },
  createCronJob: {
    name: 'createCronJob',
    leaf: 'cron_jobs.create',
    safety: 'once',
    resource: 'cron_job',
    scope: 'cron_jobs.write',
    read: readIdOf('cron_job'),
  },
  listCronJobs: {
    name: 'listCronJobs',
    leaf: 'cron_jobs.list',
    safety: 'safe',
    resource: 'cron_job',
    scope: 'the one for listing scheduled jobs',
    what: 'the list of scheduled jobs',
    read: readCronJob,
  },
  createDocument: {
    name: 'createDocument',
    leaf: 'documents.create',
    safety: 'once',
    resource: 'document',
    scope: 'the one for uploads',
    read: readIdOf('document'),
  },
  createFileAttachment: {
    name: 'createFileAttachment',
    leaf: 'file_attachments.create',
    safety: 'once',
    resource: 'file_attachment',
    scope: 'the one for uploads',
    read: readIdOf('file_attachment'),
  },
} as const satisfies Record<string, Operation>;

/** The token scopes that commands need. */
export type Scope = (typeof OPERATIONS)[keyof typeof OPERATIONS]['scope'];

/** Returns the operation of a leaf. */
export function operationOf<Leaf extends OperationLeaf>(leaf: Leaf): Operation & { readonly leaf: Leaf } {
  const rows: readonly Operation[] = Object.values(OPERATIONS);
  const found = rows.find((row): row is Operation & { readonly leaf: Leaf } => row.leaf === leaf);
  if (found === undefined) throw new Error(`No operation has the leaf ${leaf}.`);
  return found;
}
