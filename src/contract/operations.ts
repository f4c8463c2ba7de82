import type { OperationLeaf } from './leaves.ts';

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
}

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
  listSpaces: { name: 'listSpaces', leaf: 'spaces.list', safety: 'safe' },
  listAgents: { name: 'listAgents', leaf: 'agents.list', safety: 'safe' },
  // Spec §4.1 declares it idempotent for the space, but services may install the agents again on every POST.
  provisionSpace: { name: 'provisionSpace', leaf: 'spaces.provision', safety: 'once' },
  createChatSource: { name: 'createChatSource', leaf: 'sources.setup', safety: 'idempotent' },
  registerMessage: { name: 'registerMessage', leaf: 'messages.send', safety: 'idempotent' },
  readHistory: { name: 'readHistory', leaf: 'messages.history', safety: 'safe' },
  createCronJob: { name: 'createCronJob', leaf: 'cron_jobs.create', safety: 'once' },
  listCronJobs: { name: 'listCronJobs', leaf: 'cron_jobs.list', safety: 'safe' },
  createDocument: { name: 'createDocument', leaf: 'documents.create', safety: 'once' },
  createFileAttachment: { name: 'createFileAttachment', leaf: 'file_attachments.create', safety: 'once' },
} as const satisfies Record<string, Operation>;
