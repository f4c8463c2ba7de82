import { shellQuote } from '../shell-quote.ts';
import { normalizeName } from './field-names.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf, LeafName } from './leaves.ts';

/**
 * The assumptions about the wire format where the spec leaves it open. An error about an unexpected response names the one
 * that failed.
 */
export const ASSUMPTIONS = {
  'list.envelope':
    'a list is a bare array, or the only array of objects in the body, at most two levels down; an empty one has the name of the resource or a customary one, such as results, data, or items',
  'list.next':
    'a list is complete when nothing in its last response announces more, and its first does not say that something comes before it; the next page is requested by the link, the token, or the number that a response announces, and counts only if it has new items',
  'id.field':
    'an id is the value of its own name or of `id`, at the top or one level down under the name of its resource',
  'space.external_id': 'a listed space has its external_space_id under that name',
  'agent.name': 'a listed agent has the name that it was installed with',
  'provision.agents': 'the response to provisioning lists the installed agents with their names and ids',
  'chat.source':
    'the response to setting up API chat is the source, at the top or under source, api_chat, data, or result',
  'chat.acknowledgement':
    'the acknowledgement of a message has message_id (and created) at the top or under message, data, or result',
  'history.query': 'the history is read by GET with the query source_id, session_id, and after_message_id',
  'history.messages':
    'the history is a list of the messages after the cursor, or of all messages without one, each with its message_id',
  'message.author':
    'the author is the value of role, author, sender, sender_type, or direction; assistant, agent, bot, ai, and outbound mark a reply',
  'message.text':
    'the text is the value of text, content, body, or message, as a string or a list of parts that hold text',
  'message.created_at': 'the time of a message is the value of created_at, timestamp, or sent_at',
  'cron.list': 'scheduled jobs are listed by GET on the path that creates them',
  'cron.fields':
    'a job has its id as cron_job_id or id, agent_id (or agent with an id), name, instructions, and a schedule as it was sent, as plain fields, or as one string of five cron fields',
  'upload.multipart':
    'documents and file attachments are created by POST with a multipart body that holds the file in the field `file`',
} as const;

export type AssumptionName = keyof typeof ASSUMPTIONS;

/** Returns the assumption that fails if a field cannot be read. */
export function assumptionOf(leaf: FieldLeaf): AssumptionName {
  if (leaf.startsWith('source.')) return 'chat.source';
  if (leaf.endsWith('.id')) return 'id.field';
  if (leaf.startsWith('cron_job.')) return 'cron.fields';
  if (leaf.startsWith('message.')) return 'history.messages';
  return leaf.startsWith('agent.') ? 'agent.name' : 'space.external_id';
}

/** A leaf to set instead of an assumption, and a value to try; `<name>` stands for one that the operator must fill in. */
export interface ContractFix {
  readonly leaf: LeafName;
  readonly value: string;
  /** Another value that is as likely, so that the operator must choose. */
  readonly other?: string;
  /** When the value is right, if only the operator can tell. */
  readonly condition?: string;
}

/** Returns the shell command that sets leaves. */
function setCommand(settings: readonly Pick<ContractFix, 'leaf' | 'value'>[]): string {
  const args = settings.map(({ leaf, value }) => `${leaf} ${shellQuote(value)}`);
  return `partnerctl contract set ${args.join(' ')}`;
}

/** Says what to put in place of what the operator must fill in. */
function choiceFor(value: string, condition: string | undefined): string {
  if (value === 'query:<name>') return ', with the name of the parameter in place of <name>';
  if (value !== '<path>') return '';
  return `, with ${condition === undefined ? 'the path of the field' : 'its path'} in place of <path>`;
}

/** Returns the hint for a fix: its command, or two commands to choose from. */
export function describeFix({ leaf, value, other, condition }: ContractFix): string {
  if (other !== undefined) {
    const choices = [value, other].map((each) => `If it is ${each}, run: ${setCommand([{ leaf, value: each }])}`);
    return `The documentation of the service says which one is the ${leaf.replace('.', ' ')}.\n${choices.join('\n')}`;
  }
  const when = condition === undefined ? 'To say where it is' : `If ${condition}`;
  return `${when}, run: ${setCommand([{ leaf, value }])}${choiceFor(value, condition)}`;
}

/** Returns the hint for another method of an operation: one command for it and its parameters. */
export function describeMethod(settings: readonly Pick<ContractFix, 'leaf' | 'value'>[]): string {
  return `To use that method, run: ${setCommand(settings)}`;
}

/** A response that cannot be read under the assumptions. The API client turns it into an error for the user. */
export class UnknownShape extends Error {
  readonly assumption: AssumptionName;
  /** A readable description of the response. */
  readonly seen: string;
  /** What would make the response readable, if that is known. */
  readonly fix: ContractFix | undefined;

  constructor(assumption: AssumptionName, message: string, seen: string, fix?: ContractFix) {
    super(message);
    this.assumption = assumption;
    this.seen = seen;
    this.fix = fix;
  }
}

/** A response with a success status whose body reports an error. */
export class ErrorInBody extends UnknownShape {
  constructor(assumption: AssumptionName, seen: string) {
    super(assumption, 'The response reports an error, although its status is a success.', seen);
  }
}

const FAILURES = new Set(['error', 'errors', 'errored', 'fail', 'failed', 'failure']);
/** Fields that describe an error. An object with an id and none of these is a resource with its own `status`. */
const ERROR_FIELDS = new Set([
  'message',
  'msg',
  'detail',
  'details',
  'code',
  'reason',
  'errormessage',
  'errorcode',
  'title',
]);
const RESOURCE_ID = /^(?!(request|trace|correlation|error|log|event)id$).*id$/;
const LOWEST_ERROR_STATUS = 400;
const OK_VALUE = /^(0+|ok|success)$/i;

/** Whether the value of an `error` field is an error: `{}`, `{code: 0}`, and `{code: "ok", message: ""}` are not. */
function isError(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value);
  if (!isJsonObject(value)) return Object.keys(value).length > 0;
  const { code, status = code, ...others } = value;
  const isOk = [code, status].every((each) => each === 0 || (typeof each === 'string' && OK_VALUE.test(each)));
  const details = Object.entries(others).filter(([key]) => ERROR_FIELDS.has(normalizeName(key)));
  return isOk
    ? details.some(([, each]) => isError(each) && !(typeof each === 'string' && OK_VALUE.test(each)))
    : Object.keys(value).length > 0;
}

function saysFailure(name: string, value: unknown): boolean {
  if (typeof value === 'string')
    return ['status', 'result', 'outcome'].includes(name) && FAILURES.has(value.toLowerCase());
  if (typeof value !== 'number') return false;
  return ['status', 'statuscode', 'code'].includes(name) && value >= LOWEST_ERROR_STATUS && value < 600;
}

function reportsError(object: JsonObject): boolean {
  const entries = Object.entries(object).map(([key, value]) => [normalizeName(key), value] as const);
  const isReported = entries.some(([name, value]) => {
    if (['success', 'ok', 'succeeded', 'issuccess'].includes(name)) return value === false;
    if (['iserror', 'haserror', 'haserrors'].includes(name)) return value === true;
    return ['error', 'errors', 'fault', 'faults'].includes(name) && isError(value);
  });
  if (isReported) return true;
  const isResource =
    entries.some(([name]) => RESOURCE_ID.test(name)) && !entries.some(([name]) => ERROR_FIELDS.has(name));
  return !isResource && entries.some(([name, value]) => saysFailure(name, value));
}

/**
 * Rejects a successful response whose body reports an error: an id in it may belong to another object, and an empty
 * list in it means nothing.
 * @param envelopes the objects in the body that may report the error
 * @throws ErrorInBody
 */
export function rejectErrorInBody(body: unknown, envelopes: readonly JsonObject[], assumption: AssumptionName): void {
  if (envelopes.some(reportsError)) throw new ErrorInBody(assumption, describeJson(body));
}
