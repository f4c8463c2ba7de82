import type { ChatSetup } from '../contract/chat-fields.ts';
import type { Contract } from '../contract/contract.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { type Acknowledgement, readAcknowledgement } from '../contract/messages.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import {
  type ChatSource,
  type ListedAgent,
  type ListedSpace,
  type ProvisionResponse,
  readAgent,
  readChatSource,
  readProvisionResponse,
  readSpace,
  type UploadKind,
  type WireSchedule,
} from '../contract/resources.ts';
import { rejectErrorInBody } from '../contract/unknown-shape.ts';
import { PartnerctlError } from '../errors.ts';
import type { Paged } from '../platform/paged.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import { listAll, listItems, type Purpose } from './list.ts';
import type { StreamedBody } from './streamed-body.ts';

/*
 * The calls of the service (spec §4), by which features reach it; `history.ts` reads the messages of a session. All throw
 * the errors of `Http.call`, and ShapeError for a response that cannot be read. The `once` calls throw OutcomeUnknownError
 * if they may have taken effect; every other PartnerctlError of theirs proves that they did not. Lists are read to act on
 * them, and so refused unless they are whole, or only to be shown.
 */

export type OnceLimits = Pick<CallOptions, 'timeoutMs' | 'maySend'>;

/** Lists the spaces that the token can access (endpoint 1). */
export function listSpaces(http: Http, purpose: Purpose = 'act'): Paged<ListedSpace> {
  return listAll(http, OPERATIONS.listSpaces, readSpace, { purpose });
}

/** Lists the agents of a space (endpoint 3). Reading it throws NotFoundError if the service does not know the space. */
export function listAgents(http: Http, space_id: string, purpose: Purpose = 'act'): Paged<ListedAgent> {
  return listAll(http, OPERATIONS.listAgents, readAgent, { purpose, values: { space_id } });
}

/** Lists the scheduled jobs that the token can access, as the service describes them. */
export function listJobs(http: Http, purpose: Purpose = 'act'): Paged<JsonObject> {
  return listItems(http, OPERATIONS.listCronJobs, { purpose });
}

/** Returns the fields of a body (spec §4). What is passed may have others, such as the line of its file. */
function pick(object: object, names: string): JsonObject {
  const wanted = names.split(' ');
  return Object.fromEntries(Object.entries(object).filter(([name]) => wanted.includes(name)));
}

interface NewSpace {
  readonly external_space_id: string;
  readonly space: { readonly [field: string]: string | boolean | undefined };
  readonly agents: readonly { readonly [field: string]: string | boolean | undefined }[];
}

/** Creates or reuses a space and installs agents in it (spec §4.1). A `once` call. */
export async function provisionSpace(
  http: Http,
  { external_space_id, space, agents }: NewSpace,
  limits: OnceLimits,
): Promise<ProvisionResponse> {
  const json = {
    external_space_id,
    space: pick(space, 'name description is_org_wide'),
    agents: agents.map((agent) => pick(agent, 'template_id name auto_create_api_chat api_chat_routing_mode')),
  };
  const response = await http.call(OPERATIONS.provisionSpace, { ...limits, json });
  return readCreated(response, readProvisionResponse);
}

/** Creates the agent's API chat source, or returns the existing one (spec §4.2). The service chooses what is omitted. */
export async function setUpChatSource(
  http: Http,
  space_id: string,
  agent_id: string,
  fields: Partial<ChatSetup>,
): Promise<ChatSource> {
  const json = pick(fields, 'name reply_capable routing_mode');
  const response = await http.call(OPERATIONS.createChatSource, { values: { space_id, agent_id }, json });
  return readCreated(response, readChatSource);
}

/** A message to register (spec §4.3). The text is sent unchanged. */
export interface NewMessage {
  readonly source_id: string;
  readonly session_id: string;
  readonly text: string;
  /** The service registers only one message per id. */
  readonly external_message_id: string;
}

/** Registers a message; the reply appears later in the history (spec §4.3). @throws ShapeError without a message_id */
export async function postMessage(http: Http, message: NewMessage): Promise<Acknowledgement> {
  const json = { ...pick(message, 'source_id session_id text external_message_id'), response_mode: 'accepted' };
  const response = await http.call(OPERATIONS.registerMessage, { json });
  return readCreated(response, readAcknowledgement);
}

/** Reads a response. A 201 means that something is new, unless the body has a `created` of its own. */
function readCreated<Result extends { readonly created?: boolean | undefined }>(
  response: ApiResponse,
  reader: (body: unknown, contract: Contract) => Result,
): Result {
  const result = response.read(reader);
  return { ...result, created: result.created ?? (response.status === 201 ? true : undefined) };
}

/** A job to create (spec §2). All fields are sent unchanged. */
export interface NewJob {
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: WireSchedule;
}

/** Creates a scheduled job and returns its id. A `once` call: each request creates another job (spec §4.5). */
export async function createJob(http: Http, { schedule, ...job }: NewJob, limits: OnceLimits): Promise<string> {
  const data = pick(schedule, 'minute hour day_of_week');
  const json = {
    ...pick(job, 'agent_id name instructions'),
    schedule: { type: 'cron', data, timezone: schedule.timezone },
  };
  const response = await http.call(OPERATIONS.createCronJob, { ...limits, json });
  return response.read(OPERATIONS.createCronJob.read);
}

/** Uploads a file (endpoints 7 and 8) and returns the new id. A `once` call. @throws also errors of the source */
export async function createUpload(
  http: Http,
  kind: UploadKind,
  body: StreamedBody,
  limits: OnceLimits = {},
): Promise<string> {
  const operation = kind === 'document' ? OPERATIONS.createDocument : OPERATIONS.createFileAttachment;
  const response = await http.call(operation, { ...limits, body });
  return response.read(operation.read);
}

/** Tells whether the service accepts the token, by its list of spaces, or if that is forbidden, that of jobs. */
export async function verifyToken(http: Http) {
  const first = await checkToken(http, OPERATIONS.listSpaces);
  if (first.status !== 'forbidden') return first;
  const second = await checkToken(http, OPERATIONS.listCronJobs);
  return second.status === 'accepted' ? second : first;
}

async function checkToken(http: Http, operation: Operation) {
  const [method, path] = http.contract.leaf(operation.leaf).value.split(' ');
  const verified_by = `${method} ${http.baseUrl}${path}`;
  try {
    const response = await http.call(operation);
    response.read((body) => rejectErrorInBody(body, isJsonObject(body) ? [body] : []));
    return { status: 'accepted', verified_by, error: undefined } as const;
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const { status } = error.info;
    if (status === 401) return { status: 'rejected', verified_by, error } as const;
    return { status: status === 403 ? 'forbidden' : 'unknown', verified_by, error } as const;
  }
}
