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
const MAX_TITLE = 200;

function text(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const trimmed = value.trim();
  return trimmed.length > MAX_TEXT ? `${trimmed.slice(0, MAX_TEXT)}…` : trimmed;
}

/** Joins the texts of a value: a text, a list of texts, or objects with a message. */
function textsIn(value: unknown): string | undefined {
  const items = (Array.isArray(value) ? value.slice(0, MAX_FIELD_ERRORS) : [value]).map((item: unknown) =>
    text(isJsonObject(item) ? (item.message ?? item.msg) : item),
  );
  return items.filter((item) => item !== undefined).join(' ') || undefined;
}

/** A path as text: `body.agents[0].name` for FastAPI's list of steps. */
function pathOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return text(value);
  const steps = value.map((step) => (typeof step === 'number' ? `[${step}]` : `.${text(step) ?? '?'}`));
  return text(steps.join('').replace(/^\./, ''));
}

function fieldError(item: unknown): readonly FieldError[] {
  if (!isJsonObject(item)) return text(item) === undefined ? [] : [{ path: '', message: text(item) ?? '' }];
  const source = isJsonObject(item.source) ? item.source : {};
  const path = pathOf(item.path ?? item.field ?? item.loc ?? item.pointer ?? item.name ?? source.pointer);
  const texts = [item.message, item.detail, item.msg, item.reason, item.title, item.code].map(text);
  const message = texts.find((each) => each !== undefined);
  return message === undefined ? [] : [{ path: path ?? '', message }];
}

/** Reads `[{field|path|loc|pointer, message|detail|msg}]`, `["text"]`, or `{name: ["text"]}`. */
function readFieldErrors(value: unknown): readonly FieldError[] {
  if (Array.isArray(value)) return value.slice(0, MAX_FIELD_ERRORS).flatMap(fieldError);
  if (!isJsonObject(value)) return [];
  return Object.entries(value)
    .slice(0, MAX_FIELD_ERRORS)
    .flatMap(([path, found]) => {
      const message = textsIn(found);
      return message === undefined ? [] : [{ path: text(path) ?? '', message }];
    });
}

const FIELD_ERRORS = ['fields', 'errors', 'field_errors', 'invalid_params', 'invalid-params', 'violations'];
/** Keys under which a body nests its error; of a list, the first one. */
const NESTED = ['error', 'errors', 'detail', 'fault', 'exception'];
/** The `type` of problem+json without a code of its own (RFC 9457). */
const NO_CODE = 'about:blank';

/** The body, and the error nested in it. */
function holdersOf(body: JsonObject): readonly JsonObject[] {
  const nested = NESTED.map((key) => body[key]).map((value): unknown => (Array.isArray(value) ? value[0] : value));
  return [body, ...nested.filter(isJsonObject)];
}

function findFieldErrors(holders: readonly JsonObject[]): readonly FieldError[] {
  for (const holder of holders) {
    // FastAPI has the list directly under `detail`.
    for (const key of [...FIELD_ERRORS, ...(Array.isArray(holder.detail) ? ['detail'] : [])]) {
      const found = readFieldErrors(holder[key]);
      if (found.length > 0) return found;
    }
  }
  return [];
}

function readObject(body: JsonObject, contract: Contract): ErrorBody {
  const holders = holdersOf(body);
  const textsBy = (names: Contract, leaf: 'error.code' | 'error.message') =>
    holders.flatMap((holder) => {
      const values = fieldsOf(holder, 'error', names)
        .all(leaf)
        .map(({ value }) => textsIn(value));
      return values.find((value) => value !== undefined && value !== NO_CODE) ?? [];
    });
  // An error of a gateway does not have the fields that are set for the service.
  const texts = (leaf: 'error.code' | 'error.message') => {
    const found = textsBy(contract, leaf);
    return found.length > 0 ? found : textsBy(new Contract(), leaf);
  };
  const [code] = texts('error.code');
  const messages = new Set(texts('error.message'));
  const fields = findFieldErrors(holders);
  // Django REST framework has the names of the fields at the top.
  const own = messages.size === 0 && fields.length === 0 ? readFieldErrors(body) : fields;
  return {
    ...(code !== undefined && { code }),
    ...(messages.size > 0 && { message: [...messages].join(': ') }),
    fields: own,
  };
}

function titleOf(html: string): string {
  const found = /<(title|h1)[^>]*>([^<]{1,201})/i.exec(html.slice(0, MAX_HTML))?.[2] ?? '';
  const title = (found.length > MAX_TITLE ? `${found.slice(0, MAX_TITLE)}…` : found).replace(/\s+/g, ' ').trim();
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
  let parsed: unknown;
  try {
    parsed = JSON.parse(trimmed);
  } catch {
    return { message: text(trimmed) ?? '', fields: [], fromGateway: true };
  }
  if (isJsonObject(parsed)) return readObject(parsed, contract);
  if (Array.isArray(parsed)) return { fields: readFieldErrors(parsed) };
  const message = text(parsed);
  return { ...(message !== undefined && { message }), fields: [], fromGateway: true };
}
