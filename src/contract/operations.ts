import { readIdOf as idOf } from './body.ts';
import type { Contract } from './contract.ts';
import type { Resource } from './field-names.ts';
import type { JsonObject } from './json.ts';
import type { ListLeaf, OperationLeaf } from './leaves.ts';
import { readAcknowledgement, readMessage } from './messages.ts';
import { readAgent, readChatSource, readCronJob, readProvisionResponse, readSpace } from './resources.ts';

/** `safe`: a read. `idempotent`: a write that the service deduplicates. `once`: not retried once it may have left. */
export type Safety = 'safe' | 'idempotent' | 'once';

/** The methods that `partnerctl api` accepts. */
export const HTTP_METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type HttpMethod = (typeof HTTP_METHODS)[number];

/** The description of one API call. The contract has its method and path. */
export interface Operation {
  readonly name: string;
  readonly leaf: OperationLeaf;
  readonly safety: Safety;
  readonly resource: Resource;
  /** The token scope that it needs (spec §5.3). The spec names three of them, and describes the others. */
  readonly scope: string;
  /** What a list is called in a sentence. */
  readonly what?: string;
  /** Reads its response; of a list, each item. @throws UnknownShape */
  readonly read: (body: JsonObject, contract: Contract) => unknown;
}

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
    readonly text?: string | undefined;
  };
}

type Read = Operation['read'];

function list<Leaf extends ListLeaf, Reader extends Read>(
  name: string,
  leaf: Leaf,
  [resource, scope, what]: readonly [resource: Resource, scope: string, what: string],
  read: Reader,
) {
  return { name, leaf, safety: 'safe', resource, scope, what, read } as const;
}

function write<Leaf extends OperationLeaf, Reader extends Read>(
  name: string,
  leaf: Leaf,
  [safety, resource, scope]: readonly [safety: Safety, resource: Resource, scope: string],
  read: Reader,
) {
  return { name, leaf, safety, resource, scope, read } as const;
}

const [PROVISIONING, SETUP] = ['the one for provisioning', 'the one for API chat setup'] as const;
const [CHAT, UPLOADS] = ['the one for API chat runtime', 'the one for uploads'] as const;
const JOBS = ['cron_job', 'the one for listing scheduled jobs', 'the list of scheduled jobs'] as const;

/** The operations of the tool. Their safety (spec §4.6) is declared only here. */
export const OPERATIONS = {
  listSpaces: list('listSpaces', 'spaces.list', ['space', 'spaces.read', 'the list of spaces'], readSpace),
  listAgents: list('listAgents', 'agents.list', ['agent', 'agents.read', 'the agents of a space'], readAgent),
  readHistory: list('readHistory', 'messages.history', ['message', CHAT, 'the history of a session'], readMessage),
  listCronJobs: list('listCronJobs', 'cron_jobs.list', JOBS, readCronJob),
  // Spec §4.1 declares it idempotent for the space, but services may install the agents again on every POST.
  provisionSpace: write('provisionSpace', 'spaces.provision', ['once', 'space', PROVISIONING], readProvisionResponse),
  createChatSource: write('createChatSource', 'sources.setup', ['idempotent', 'source', SETUP], readChatSource),
  registerMessage: write('registerMessage', 'messages.send', ['idempotent', 'message', CHAT], readAcknowledgement),
  createCronJob: write('createCronJob', 'cron_jobs.create', ['once', 'cron_job', 'cron_jobs.write'], idOf('cron_job')),
  createDocument: write('createDocument', 'documents.create', ['once', 'document', UPLOADS], idOf('document')),
  createFileAttachment: write(
    'createFileAttachment',
    'file_attachments.create',
    ['once', 'file_attachment', UPLOADS],
    idOf('file_attachment'),
  ),
};

/** Whether an operation reads a list. */
export function isListOperation(operation: Operation): operation is ListOperation {
  return operation.what !== undefined;
}
