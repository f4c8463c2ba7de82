import { Contract } from './contract.ts';
import { fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** The error details from the body of an error response. */
export interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  /** Errors about individual fields of the request. */
  readonly fields: readonly FieldError[];
  /** Set if the body is not a JSON object or array, which a service would send. */
  readonly fromGateway?: true;
}

interface FieldError {
  /** Empty if the error names no field. */
  readonly path: string;
  readonly message: string;
}

const MAX_TEXT = 500;
const MAX_FIELD_ERRORS = 50;
/** The title of an HTML page is near its start. */
const MAX_HTML = 10_000;

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? cut(value.trim(), MAX_TEXT) : undefined;
}

/** Joins the texts of a value: a text, a list of texts, or objects with a message. */
function textsIn(value: unknown): string | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value.slice(0, MAX_FIELD_ERRORS) : [value];
  const texts = items.map((item) => textOf(isJsonObject(item) ? (item.message ?? item.msg) : item));
  return texts.filter((text) => text !== undefined).join(' ') || undefined;
}

/** A path as text: `body.agents[0].name` for FastAPI's list of steps. */
function pathOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return textOf(value);
  const steps = value.map((step) => (typeof step === 'number' ? `[${step}]` : `.${textOf(step) ?? '?'}`));
  return textOf(steps.join('').replace(/^\./, ''));
}

function fieldErrors(item: unknown): readonly FieldError[] {
  if (!isJsonObject(item)) return textOf(item) === undefined ? [] : [{ path: '', message: textOf(item) ?? '' }];
  const pointer = isJsonObject(item.source) ? item.source.pointer : undefined;
  const path = pathOf(item.path ?? item.field ?? item.loc ?? item.pointer ?? item.name ?? pointer);
  const texts = [item.message, item.detail, item.msg, item.reason, item.title, item.code].map(textOf);
  const message = texts.find((each) => each !== undefined);
  return message === undefined ? [] : [{ path: path ?? '', message }];
}

/** Reads `[{field|path|loc|pointer, message|detail|msg}]`, `["text"]`, or `{name: ["text"]}`. */
function readFieldErrors(value: unknown): readonly FieldError[] {
  if (Array.isArray(value)) return value.slice(0, MAX_FIELD_ERRORS).flatMap(fieldErrors);
  const entries = isJsonObject(value) ? Object.entries(value).slice(0, MAX_FIELD_ERRORS) : [];
  return entries.flatMap(([path, found]) => {
    const message = textsIn(found);
    return message === undefined ? [] : [{ path: textOf(path) ?? '', message }];
  });
}

const FIELD_ERRORS = ['fields', 'errors', 'field_errors', 'invalid_params', 'invalid-params', 'violations'];
/** Keys under which a body nests its error; of a list, the first one. */
const NESTED = ['error', 'errors', 'detail', 'fault', 'exception'];
/** The `type` of problem+json without a code of its own (RFC 9457). */
const NO_CODE = 'about:blank';

/** Returns the texts of a field, in the body and in the error that it nests. */
function textsBy(holders: readonly JsonObject[], contract: Contract, leaf: 'error.code' | 'error.message') {
  return holders.flatMap((holder) => {
    const texts = fieldsOf(holder, 'error', contract)
      .all(leaf)
      .map(({ value }) => textsIn(value));
    return texts.find((text) => text !== undefined && text !== NO_CODE) ?? [];
  });
}

function readObject(body: JsonObject, contract: Contract): ErrorBody {
  const nested = NESTED.map((key) => body[key]).map((value): unknown => (Array.isArray(value) ? value[0] : value));
  const holders = [body, ...nested.filter(isJsonObject)];
  // An error of a gateway does not have the fields that are set for the service.
  const texts = (leaf: 'error.code' | 'error.message') => {
    const found = textsBy(holders, contract, leaf);
    return found.length > 0 ? found : textsBy(holders, new Contract(), leaf);
  };
  const [code] = texts('error.code');
  const message = [...new Set(texts('error.message'))].join(': ');
  // FastAPI has the list directly under `detail`.
  const lists = holders.flatMap((holder) => [
    ...FIELD_ERRORS.map((key) => holder[key]),
    Array.isArray(holder.detail) ? holder.detail : undefined,
  ]);
  const fields = lists.map(readFieldErrors).find((found) => found.length > 0) ?? [];
  // Django REST framework has the names of the fields at the top.
  const own = message === '' && fields.length === 0 ? readFieldErrors(body) : fields;
  return { ...(code !== undefined && { code }), ...(message !== '' && { message }), fields: own };
}

function titleOf(html: string): string {
  const found = /<(title|h1)[^>]*>([^<]{1,201})/i.exec(html.slice(0, MAX_HTML))?.[2] ?? '';
  const title = cut(found, 200).replace(/\s+/g, ' ').trim();
  return title ? `an HTML page: ${title}` : 'an HTML page';
}

/**
 * Reads the body of a 4xx or 5xx response, whose shape the spec leaves open (spec §7): JSON in a common form, problem+json,
 * or text. Reduces an HTML page to its title. Never throws.
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
  let parsed: unknown = trimmed;
  try {
    parsed = JSON.parse(trimmed);
  } catch {
    // Shown as it is.
  }
  if (isJsonObject(parsed)) return readObject(parsed, contract);
  if (Array.isArray(parsed)) return { fields: readFieldErrors(parsed) };
  const message = textOf(parsed);
  return { ...(message !== undefined && { message }), fields: [], fromGateway: true };
}
