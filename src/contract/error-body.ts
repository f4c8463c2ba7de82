import { byNormalName } from './field-names.ts';
import { isJsonObject, type JsonObject, jsonOrText } from './json.ts';

export interface ErrorBody {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
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

/* Normalized names, the likeliest first. */

const CODES = ['code', 'errorcode', 'errcode', 'type'];
const MESSAGES =
  'message detail errordescription errormessage msg reason description title error errors fault exception'.split(' ');
const PATHS = ['path', 'field', 'loc', 'pointer', 'name', 'source'];
/** What a body nests its error in; of a list, the first one counts. */
const NESTED = ['error', 'errors', 'detail', 'fault', 'exception'];
/** FastAPI has the list directly under `detail`. */
const FIELD_ERRORS = ['fields', 'errors', 'fielderrors', 'invalidparams', 'violations', 'detail'];

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value.trim() : '';
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text || undefined;
}

function firstText(object: JsonObject, names: readonly string[], read = textOf): string | undefined {
  const values = byNormalName(object);
  return names.map((name) => read(values.get(name))).find((text) => text !== undefined);
}

/** Joins the texts of a value: a text, a list of texts, or objects with a message. */
function textIn(value: unknown): string | undefined {
  if (isJsonObject(value)) return firstText(value, MESSAGES, textIn);
  if (!Array.isArray(value)) return textOf(value);
  const texts = value.slice(0, MAX_FIELD_ERRORS).map(textIn);
  return texts.filter((text) => text !== undefined).join(' ') || undefined;
}

/** A path as text: `body.agents[0].name` for FastAPI's list of steps, the pointer of JSON:API. */
function pathOf(value: unknown): string | undefined {
  if (isJsonObject(value)) return firstText(value, PATHS, pathOf);
  if (!Array.isArray(value)) return textOf(value);
  const steps = value.map((step) => (typeof step === 'number' ? `[${step}]` : `.${textOf(step) ?? '?'}`));
  return textOf(steps.join('').replace(/^\./, ''));
}

/** Reads `[{field|path|loc|pointer, message|detail|msg}]`, `["text"]`, or `{name: ["text"]}`. */
function readFieldErrors(value: unknown): readonly FieldError[] {
  const items: readonly (readonly [string | undefined, unknown])[] = Array.isArray(value)
    ? value.map((item) => [isJsonObject(item) ? pathOf(item) : '', item])
    : Object.entries(isJsonObject(value) ? value : {});
  return items.slice(0, MAX_FIELD_ERRORS).flatMap(([path, item]) => {
    const message = textIn(item);
    return message === undefined ? [] : [{ path: textOf(path) ?? '', message }];
  });
}

function readObject(body: JsonObject): ErrorBody {
  const values = byNormalName(body);
  const nested = NESTED.flatMap((name) => [values.get(name)].flat().slice(0, 1));
  const holders = [body, ...nested.filter(isJsonObject)];
  // The `type` of problem+json without a code of its own (RFC 9457).
  const code = holders.map((holder) => firstText(holder, CODES)).find((text) => text && text !== 'about:blank');
  const message = textIn(body);
  const lists = holders.flatMap((holder) => FIELD_ERRORS.map((name) => byNormalName(holder).get(name)));
  // Django REST framework has the names of the fields at the top.
  const places = message === undefined ? [...lists, body] : lists;
  return { code, message, fields: places.map(readFieldErrors).find((found) => found.length > 0) ?? [] };
}

function titleOf(html: string): string {
  const [, , title = ''] = /<(title|h1)[^>]*>([^<]{1,200})/i.exec(html.slice(0, 10_000)) ?? [];
  return title.trim() === '' ? 'an HTML page' : `an HTML page: ${title.replace(/\s+/g, ' ').trim()}`;
}

/** Reads the body of a 4xx or 5xx, whose shape spec §7 leaves open; of an HTML page, its title. Never throws. */
export function readErrorBody(body: string, contentType: string | undefined): ErrorBody {
  const text = body.trim();
  if (text === '') return { fields: [] };
  if (/html/i.test(contentType ?? '') || /^<(!doctype|html|head|body)/i.test(text)) {
    return { message: titleOf(text), fields: [], fromGateway: true };
  }
  const parsed = jsonOrText(text);
  if (isJsonObject(parsed)) return readObject(parsed);
  if (Array.isArray(parsed)) return { fields: readFieldErrors(parsed) };
  return { message: textOf(parsed), fields: [], fromGateway: true };
}
