import { Contract } from './contract.ts';
import { fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** The error details from the body of an error response. */
export interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  /** Errors about individual fields of the request. */
  readonly fields: readonly { readonly path: string; readonly message: string }[];
  /** Set if the body is not a JSON object or array, which a service would send. */
  readonly fromGateway?: true;
}

const MAX_TEXT = 500;
const MAX_NESTING = 4;
const MAX_FIELD_ERRORS = 50;
/** The title of an HTML page is near its start. */
const MAX_HTML = 10_000;
const MAX_TITLE = 200;

function text(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const trimmed = value.trim();
  return trimmed.length > MAX_TEXT ? `${trimmed.slice(0, MAX_TEXT)}…` : trimmed;
}

function pathOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return text(value);
  const steps = value.map((step) => (typeof step === 'number' ? `[${step}]` : `.${text(step) ?? '?'}`));
  return text(steps.join('').replace(/^\./, ''));
}

function messagesOf(value: unknown): string | undefined {
  const parts = (Array.isArray(value) ? value.slice(0, MAX_FIELD_ERRORS) : [value]).map((item) =>
    isJsonObject(item) ? text(item.message) : text(item),
  );
  const messages = parts.filter((part) => part !== undefined);
  return messages.length === 0 ? undefined : messages.join(' ');
}

/** Reads `[{field|path|loc|pointer, message|detail|msg}]`, `["text"]`, or `{name: ["text"]}`. */
function readFieldErrors(value: unknown): { path: string; message: string }[] {
  if (Array.isArray(value)) {
    return value.slice(0, MAX_FIELD_ERRORS).flatMap((item) => {
      if (!isJsonObject(item)) return text(item) === undefined ? [] : [{ path: '', message: text(item) ?? '' }];
      const source = isJsonObject(item.source) ? item.source : {};
      const path = pathOf(item.path ?? item.field ?? item.loc ?? item.pointer ?? item.name ?? source.pointer);
      const candidates = [item.message, item.detail, item.msg, item.reason, item.title, item.code];
      const message = candidates.map(text).find((candidate) => candidate !== undefined);
      return message === undefined ? [] : [{ path: path ?? '', message }];
    });
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value)
    .slice(0, MAX_FIELD_ERRORS)
    .flatMap(([path, found]) => {
      const message = messagesOf(found);
      return message === undefined ? [] : [{ path: text(path) ?? '', message }];
    });
}

const FIELD_ERROR_KEYS = ['fields', 'errors', 'field_errors', 'invalid_params', 'invalid-params', 'violations'];

function findFieldErrors(body: JsonObject, inner: JsonObject): ErrorBody['fields'] {
  for (const place of [inner, body]) {
    for (const key of FIELD_ERROR_KEYS) {
      const found = readFieldErrors(place[key]);
      if (found.length > 0) return found;
    }
    // FastAPI and DRF put the list directly under `detail` or at the top.
    const found = Array.isArray(place.detail) || isJsonObject(place.detail) ? readFieldErrors(place.detail) : [];
    if (found.length > 0) return found;
  }
  return [];
}

/** Names under which a body nests its error. A list counts as its first item. */
const NESTED = [
  'error',
  'fault',
  'faults',
  'detail',
  'exception',
  'errorinfo',
  'status',
  'meta',
  'problem',
  'response',
];
const MESSAGES = ['errordescription', 'message', 'errormessage', 'detail', 'faultstring', 'description', 'reason'];
const LAST_MESSAGES = ['msg', 'errormsg', 'error', 'errors', 'messages', 'title', 'userinfo', 'info'];
const CODES = ['code', 'errorcode', 'errcode', 'faultcode', 'type'];
/** The `type` of problem+json without a code of its own (RFC 9457). */
const NO_CODE = 'about:blank';

/** Finds the message and the code under common names, at the top or nested. */
function findMessage(body: JsonObject, depth = 0): { readonly code?: string; readonly message?: string } {
  const named = new Map(Object.entries(body).map(([key, value]) => [key.toLowerCase().replace(/[_-]/g, ''), value]));
  const at = (names: readonly string[]) =>
    names.map((name) => messagesOf(named.get(name))).find((found) => found !== undefined);
  const objects = [...NESTED, 'errors']
    .map((name) => named.get(name))
    .map((value): unknown => (Array.isArray(value) ? value[0] : value))
    .filter(isJsonObject);
  const inner = depth < MAX_NESTING ? objects.map((object) => findMessage(object, depth + 1)) : [];
  const message = at(MESSAGES) ?? inner.find((each) => each.message !== undefined)?.message ?? at(LAST_MESSAGES);
  const extensions = named.get('extensions');
  const extended = isJsonObject(extensions) ? text(extensions.code) : undefined;
  const own =
    extended ??
    (message === undefined
      ? undefined
      : text(CODES.map((name) => named.get(name)).find((value) => value !== NO_CODE && text(value))));
  const code = own ?? inner.find((each) => each.code !== undefined)?.code;
  return { ...(code !== undefined && { code }), ...(message !== undefined && { message }) };
}

/** Returns the text of a field at the path that is set for this service; undefined if none is set. */
function chosenText(body: JsonObject, leaf: 'error.code' | 'error.message', contract: Contract): string | undefined {
  if (!contract.namesOf('error').rule(leaf).isChosen) return undefined;
  const found = fieldsOf(body, 'error', contract).all(leaf);
  return found.map(({ value }) => messagesOf(value)).find((each) => each !== undefined);
}

function readObject(body: JsonObject, contract: Contract): ErrorBody {
  const found = readStandard(body);
  const code = chosenText(body, 'error.code', contract) ?? found.code;
  const message = chosenText(body, 'error.message', contract) ?? found.message;
  return { ...(code !== undefined && { code }), ...(message !== undefined && { message }), fields: found.fields };
}

function readStandard(body: JsonObject): ErrorBody {
  const known = readKnownObject(body);
  const found = findMessage(body);
  const code = known.code ?? found.code;
  const isExtra =
    found.message !== undefined && !known.fields.some(({ message }) => message.includes(found.message ?? ''));
  const message = known.message ?? (isExtra ? found.message : undefined);
  const combined =
    message !== undefined &&
    found.message !== undefined &&
    !message.includes(found.message) &&
    message.length < found.message.length
      ? `${message}: ${found.message}`
      : message;
  return {
    ...(code !== undefined && { code }),
    ...(combined !== undefined && { message: combined }),
    fields: known.fields,
  };
}

function readKnownObject(body: JsonObject): ErrorBody {
  const inner = isJsonObject(body.error) ? body.error : isJsonObject(body.detail) ? body.detail : {};
  const first = Array.isArray(body.errors) && isJsonObject(body.errors[0]) ? body.errors[0] : {};
  const code = text(body.code) ?? text(inner.code) ?? text(body.error_code) ?? text(inner.type) ?? text(first.code);
  const ownMessage =
    text(body.message) ??
    text(inner.message) ??
    text(body.detail) ??
    text(inner.detail) ??
    text(body.error) ??
    text(body.error_description) ??
    text(body.title);
  let fields = findFieldErrors(body, inner);
  if (ownMessage === undefined && fields.length === 0) fields = readFieldErrors(body);
  const message = ownMessage ?? text(first.message) ?? text(first.detail);
  return { ...(code !== undefined && { code }), ...(message !== undefined && { message }), fields };
}

function titleOf(html: string): string {
  const found = /<(title|h1)[^>]*>([^<]{1,201})/i.exec(html.slice(0, MAX_HTML))?.[2] ?? '';
  const title = (found.length > MAX_TITLE ? `${found.slice(0, MAX_TITLE)}…` : found).replace(/\s+/g, ' ').trim();
  return title ? `an HTML page: ${title}` : 'an HTML page';
}

/**
 * Reads the body of a 4xx or 5xx response, whose shape the spec leaves open (spec §7): JSON in any common form,
 * problem+json, or text. Reads the code and the message first where the contract has them. Reduces an HTML page to its
 * title. Never throws.
 */
export function readErrorBody(
  body: string,
  contentType: string | undefined,
  contract: Contract = new Contract(),
): ErrorBody {
  const trimmed = body.trim();
  if (trimmed === '') return { fields: [] };
  if (/html/i.test(contentType ?? '') || /^<(!doctype|html|head|body)/i.test(trimmed)) {
    return { message: titleOf(trimmed), fields: [], fromGateway: true };
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(trimmed);
  } catch {
    return { message: text(trimmed) ?? '', fields: [], fromGateway: true };
  }
  if (isJsonObject(parsed)) return readObject(parsed, contract);
  if (Array.isArray(parsed)) {
    return { fields: readFieldErrors(parsed) };
  }
  const message = text(parsed);
  return { ...(message !== undefined && { message }), fields: [], fromGateway: true };
}
