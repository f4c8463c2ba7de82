/**
 * How a call may be repeated once its request may have left:
 * `safe` reads; `idempotent` writes that the service deduplicates; `once` must not be repeated.
 */
export type Safety = 'safe' | 'idempotent' | 'once';

/** Where a value of the contract comes from. */
type Source = 'spec' | 'assumed';

/** One call of the service, as data. */
export interface Operation {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Below the base address; `{name}` stands for a path parameter. */
  readonly path: string;
  readonly safety: Safety;
  readonly source: Source;
}

/** The operations that the tool uses, with the retry rules of spec §4.6. */
export const OPERATIONS = {
  listSpaces: {
    name: 'listSpaces',
    method: 'GET',
    path: '/automation/spaces/',
    safety: 'safe',
    source: 'spec',
  },
  listAgents: {
    name: 'listAgents',
    method: 'GET',
    path: '/automation/spaces/{space_id}/agents/',
    safety: 'safe',
    source: 'spec',
  },
  provisionSpace: {
    name: 'provisionSpace',
    method: 'POST',
    path: '/automation/agent-templates/provision-space/',
    safety: 'idempotent',
    source: 'spec',
  },
  createChatSource: {
    name: 'createChatSource',
    method: 'POST',
    path: '/automation/spaces/{space_id}/agents/{agent_id}/api-chat/',
    safety: 'idempotent',
    source: 'spec',
  },
  registerMessage: {
    name: 'registerMessage',
    method: 'POST',
    path: '/integrations/api-chat/message/',
    safety: 'idempotent',
    source: 'spec',
  },
  readHistory: {
    name: 'readHistory',
    method: 'GET',
    path: '/integrations/api-chat/history/',
    safety: 'safe',
    source: 'assumed',
  },
  createCronJob: {
    name: 'createCronJob',
    method: 'POST',
    path: '/automation/partner-cron-jobs/',
    safety: 'once',
    source: 'spec',
  },
  listCronJobs: {
    name: 'listCronJobs',
    method: 'GET',
    path: '/automation/partner-cron-jobs/',
    safety: 'safe',
    source: 'assumed',
  },
  createDocument: {
    name: 'createDocument',
    method: 'POST',
    path: '/automation/documents/',
    safety: 'once',
    source: 'assumed',
  },
  createFileAttachment: {
    name: 'createFileAttachment',
    method: 'POST',
    path: '/automation/file-attachments/',
    safety: 'once',
    source: 'assumed',
  },
} as const satisfies Record<string, Operation>;

/**
 * Fills the path parameters of an operation, percent-encoded.
 * @throws RangeError for a value that cannot be one path segment (empty, `.`, `..`, or half a character).
 */
export function operationPath(operation: Operation, parameters: Readonly<Record<string, string>> = {}): string {
  return operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = parameters[name] ?? '';
    if (value === '' || value === '.' || value === '..' || !value.isWellFormed()) {
      throw new RangeError(`${JSON.stringify(value)} cannot be a ${name}`);
    }
    return encodeURIComponent(value);
  });
}
