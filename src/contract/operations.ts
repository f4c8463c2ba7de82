/**
 * Whether a call may be retried after its request may have left this machine: `safe` for reads, `idempotent` for writes
 * that the service deduplicates, `once` for writes that must not be retried.
 */
export type Safety = 'safe' | 'idempotent' | 'once';

/** The description of one API call. */
export interface Operation {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Relative to the base URL; `{name}` is a path parameter. */
  readonly path: string;
  readonly safety: Safety;
}

/** The operations that the tool uses. This is the only place that declares their safety (spec §4.6). */
export const OPERATIONS = {
  listSpaces: {
    name: 'listSpaces',
    method: 'GET',
    path: '/automation/spaces/',
    safety: 'safe',
  },
  listAgents: {
    name: 'listAgents',
    method: 'GET',
    path: '/automation/spaces/{space_id}/agents/',
    safety: 'safe',
  },
  provisionSpace: {
    name: 'provisionSpace',
    method: 'POST',
    path: '/automation/agent-templates/provision-space/',
    // Spec §4.1 declares it idempotent for the space, but services may install the agents again on every POST.
    safety: 'once',
  },
  createChatSource: {
    name: 'createChatSource',
    method: 'POST',
    path: '/automation/spaces/{space_id}/agents/{agent_id}/api-chat/',
    safety: 'idempotent',
  },
  registerMessage: {
    name: 'registerMessage',
    method: 'POST',
    path: '/integrations/api-chat/message/',
    safety: 'idempotent',
  },
  readHistory: {
    name: 'readHistory',
    method: 'GET',
    path: '/integrations/api-chat/history/',
    safety: 'safe',
  },
  createCronJob: {
    name: 'createCronJob',
    method: 'POST',
    path: '/automation/partner-cron-jobs/',
    safety: 'once',
  },
  listCronJobs: {
    name: 'listCronJobs',
    method: 'GET',
    path: '/automation/partner-cron-jobs/',
    safety: 'safe',
  },
  createDocument: {
    name: 'createDocument',
    method: 'POST',
    path: '/automation/documents/',
    safety: 'once',
  },
  createFileAttachment: {
    name: 'createFileAttachment',
    method: 'POST',
    path: '/automation/file-attachments/',
    safety: 'once',
  },
} as const satisfies Record<string, Operation>;

/**
 * Returns the path and query of a call, percent-encoded and relative to the base URL.
 * @param query undefined parameters are omitted
 * @throws RangeError for a path parameter that cannot be one segment: empty, `.`, `..`, or not well-formed Unicode
 */
export function buildRequestPath(
  operation: Operation,
  parameters: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = parameters[name] ?? '';
    if (value === '' || value === '.' || value === '..' || !value.isWellFormed()) {
      throw new RangeError(`${JSON.stringify(value)} is not a valid ${name}.`);
    }
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, value);
  return search.size === 0 ? path : `${path}?${search}`;
}
