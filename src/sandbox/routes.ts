/** An operation of the partner API: its address, and what the reference document says about it. */
export interface Route {
  readonly method: 'GET' | 'POST';
  /** Below `/v1`; `:name` is a parameter. */
  readonly path: string;
  /** What a token must be allowed to do. */
  readonly scope: string;
  readonly summary: string;
}

function list(path: string, scope: string, summary: string): Route {
  return { method: 'GET', path, scope, summary };
}

function write(path: string, scope: string, summary: string): Route {
  return { method: 'POST', path, scope, summary };
}

const SPACES = '/automation/spaces/';
const AGENTS = `${SPACES}:space_id/agents/`;
const DOCUMENTS = '/automation/documents/';
const ATTACHMENTS = '/automation/file-attachments/';
const JOBS = '/automation/partner-cron-jobs/';

/**
 * The endpoints of spec §4. Where it leaves a method open (§4.7), a GET lists, and a POST creates. It names the scopes
 * `spaces.read`, `agents.read`, and `cron_jobs.write` (§5.3); the others are this service's own.
 */
export const ROUTES = {
  listSpaces: list(SPACES, 'spaces.read', 'Lists the spaces available to the token.'),
  provision: write(
    '/automation/agent-templates/provision-space/',
    'spaces.provision',
    'Creates or reuses a space and installs agents. 201 for a new space, else 200.',
  ),
  listAgents: list(AGENTS, 'agents.read', 'Lists the agents of a space.'),
  setUpChat: write(
    `${AGENTS}:agent_id/api-chat/`,
    'api_chat.setup',
    "Creates or reuses the agent's API chat source. 201 for a new source, else 200.",
  ),
  sendMessage: write(
    '/integrations/api-chat/message/',
    'api_chat.runtime',
    'Registers a message. 201 for a new message, else 200.',
  ),
  readHistory: list(
    '/integrations/api-chat/history/',
    'api_chat.runtime',
    'Reads the messages of a session after a cursor.',
  ),
  listDocuments: list(DOCUMENTS, 'documents.read', 'Lists the documents.'),
  uploadDocument: write(DOCUMENTS, 'documents.write', 'Uploads a document. The same file again creates another one.'),
  listAttachments: list(ATTACHMENTS, 'file_attachments.read', 'Lists the file attachments.'),
  uploadAttachment: write(
    ATTACHMENTS,
    'file_attachments.write',
    'Uploads a file attachment. The same file again creates another one.',
  ),
  createJob: write(JOBS, 'cron_jobs.write', 'Creates a scheduled job. The same request again creates another one.'),
  listJobs: list(JOBS, 'cron_jobs.read', 'Lists the scheduled jobs, or those of one agent.'),
};
