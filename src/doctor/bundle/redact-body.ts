import { isJsonObject, type JsonObject, parseJson } from '../../contract/json.ts';
import { stringifyJson } from '../../output/formats/stringify-json.ts';
import type { Pseudonyms } from './pseudonyms.ts';
import { isCountField, isPrivateField, isTimeField, type TextMode, type TextRedactor } from './redact-text.ts';
import { isServiceWord } from './vocabulary.ts';

/** Smaller integers identify nobody. */
const MIN_IDENTIFYING = 1_000;

const ERROR_KEY = /^(errors?|faults?|problems?|detail|error_?(message|description|details?|code))$/i;

/** Fields of an error that hold prose. */
const PROSE = /(message|description|detail|title|text|summary|hint)$/i;

/** Keys that look like the name of a field rather than data. */
const FIELD_NAME = /^[@$_A-Za-z][\w.$:-]{0,63}$/;
/** Fields whose values may be used as keys elsewhere. */
const NAMING_FIELD = /(^|_)(ids?|names?|title|label|e?mail)$/i;
const DATA_IN_NAME = /\d{3}|[0-9a-f]{8}/i;

/** Where a value is in a document. */
interface FieldContext {
  /** The name of the field; for an item of a list, that of the list. */
  readonly key: string;
  /** Whether it is part of an error, whose texts are the service's own. */
  readonly isError: boolean;
}

/** Whether an integer can be a time in seconds, milliseconds, or microseconds since 1970. */
function isEpoch(value: number): boolean {
  return [1, 1e3, 1e6].some((unit) => value >= 1e9 * unit && value < 2.2e9 * unit);
}

/** Redacts the values of JSON documents and other bodies, and keeps their shape. */
export class BodyRedactor {
  private readonly pseudonyms: Pseudonyms;
  private readonly texts: TextRedactor;
  private readonly keptValues: ReadonlySet<string>;
  /** Names and ids in the current document. */
  private names: ReadonlySet<string> = new Set();

  /** @param keptValues the roles that the contract names; they are not redacted */
  constructor(pseudonyms: Pseudonyms, texts: TextRedactor, keptValues: ReadonlySet<string>) {
    this.pseudonyms = pseudonyms;
    this.texts = texts;
    this.keptValues = keptValues;
  }

  /** Redacts a parsed JSON document. @param isError whether the response has an error status */
  json(value: unknown, isError: boolean): unknown {
    this.names = new Set(namesIn(value));
    return this.value(value, { key: '', isError });
  }

  /** Redacts a body that is not JSON, such as a gateway page or a truncated document. */
  text(text: string, isProse: boolean): string {
    if (isProse) return this.texts.text(text, 'prose');
    // Keep the keys of a truncated document: `"name":`.
    return text.replace(
      /"((?:[^"\\]|\\.)*)"(\s*:)|[\p{L}\p{M}\p{N}]+/gsu,
      (part, key: string | undefined, colon = '') => {
        if (key !== undefined) return `"${this.isField(key) ? key : this.pseudonyms.replace(key)}"${colon}`;
        return /^(true|false|null)$/.test(part) ? part : this.pseudonyms.of(part);
      },
    );
  }

  private value(value: unknown, field: FieldContext): unknown {
    if (typeof value === 'string') return this.string(value, field);
    if (typeof value === 'number') return this.number(value, field.key);
    if (typeof value === 'bigint') return BigInt(this.pseudonyms.replace(String(value)));
    if (Array.isArray(value)) return value.map((item) => this.value(item, field));
    return isJsonObject(value) ? this.object(value, field) : value;
  }

  private object(object: JsonObject, field: FieldContext): JsonObject {
    const isFailure = object.success === false || object.ok === false;
    const isMap = isMapOfObjects(object);
    const entries = Object.entries(object).map(([key, value]) => {
      const isError = field.isError || isFailure || ERROR_KEY.test(key);
      const isKept = this.isField(key) && !(isMap && !isServiceWord(key));
      const newKey = isKept ? key : this.pseudonyms.replace(key);
      return [newKey, this.value(value, { key, isError })] as const;
    });
    return Object.fromEntries(entries);
  }

  private string(text: string, { key, isError }: FieldContext): string {
    if (text === '' || (this.keptValues.has(text.toLowerCase()) && !isPrivateField(key))) return text;
    if (/^\d+$/.test(text) && isCountField(key)) return text;
    if (/time_?zone$/i.test(key) && Intl.supportedValuesOf('timeZone').includes(text)) return text;
    const inner = /^\s*[[{]/.test(text) ? parse(text) : undefined;
    if (inner !== undefined) return stringifyJson(this.value(inner, { key, isError }));
    return this.texts.text(text, modeOf(key, isError));
  }

  private number(value: number, key: string): number {
    const isKept =
      (Number.isInteger(value) && Math.abs(value) < MIN_IDENTIFYING) ||
      isCountField(key) ||
      (isTimeField(key) && isEpoch(value));
    if (isKept) return value;
    const replaced = Number(this.pseudonyms.replace(String(value)));
    return Number.isFinite(replaced) ? replaced : 0;
  }

  private isField(key: string): boolean {
    return FIELD_NAME.test(key) && !DATA_IN_NAME.test(key) && (!this.names.has(key) || isServiceWord(key));
  }
}

function modeOf(key: string, isError: boolean): TextMode {
  if (isError && (!isPrivateField(key) || PROSE.test(key))) return 'prose';
  return isPrivateField(key) ? 'private' : 'value';
}

/** Whether the keys of an object are data: every value is an object with an id or a name. */
function isMapOfObjects(object: JsonObject): boolean {
  const values = Object.values(object);
  if (values.length < 2) return false;
  return values.every(
    (value) => isJsonObject(value) && Object.keys(value).some((key) => /(^|_)(id|name|title|email)$/i.test(key)),
  );
}

function namesIn(value: unknown, key = ''): readonly string[] {
  if (typeof value === 'string') return NAMING_FIELD.test(key) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => namesIn(item, key));
  return isJsonObject(value) ? Object.entries(value).flatMap(([name, inner]) => namesIn(inner, name)) : [];
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
