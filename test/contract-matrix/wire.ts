import type { Id, MessageFact, Schedule } from './facts.ts';

export type Resource = 'space' | 'agent' | 'source' | 'message' | 'cron_job' | 'document' | 'file_attachment';
export type Wire = Readonly<Record<string, unknown>>;
export type LetterCase = 'snake' | 'camel' | 'pascal' | 'kebab';

/** How a service names and nests what it sends. By default as specified. */
export interface Names {
  /** The name of a resource's own id, such as `id`. By default the resource's name with `_id`. */
  readonly id?: string;
  readonly letterCase?: LetterCase;
  /** Dot paths of single fields, such as `space.external_space_id`; null omits the field. They are taken as written. */
  readonly paths?: Readonly<Record<string, string | null>>;
  /** Who wrote a message. By default `role`. */
  readonly author?: (author: MessageFact['author']) => Wire;
  /** The text of a message. By default `text`. */
  readonly text?: (text: string) => Wire;
  /** When a message was written, from milliseconds since 1970. By default `created_at`. */
  readonly time?: (ms: number) => Wire;
  /** When a job runs. By default `schedule`, as it was created. */
  readonly schedule?: (schedule: Schedule) => Wire;
  /** Puts an object into its place, such as below `attributes`. */
  readonly wrap?: (resource: Resource, fields: Wire, id: Id) => Wire;
  /** Whether agents show their template, which the specification has only in requests. */
  readonly hasTemplates?: boolean;
}

/** Converts a name of the specification to another case. */
function inCase(name: string, letterCase: LetterCase = 'snake'): string {
  if (letterCase === 'snake') return name;
  if (letterCase === 'kebab') return name.replaceAll('_', '-');
  const camel = name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return letterCase === 'camel' ? camel : camel.charAt(0).toUpperCase() + camel.slice(1);
}

/** Converts all keys of an object, at any depth, to another case. */
function keysInCase(value: unknown, letterCase: LetterCase): unknown {
  if (Array.isArray(value)) return value.map((each) => keysInCase(each, letterCase));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [inCase(key, letterCase), keysInCase(each, letterCase)]),
  );
}

function put(target: Record<string, unknown>, path: string, value: unknown): void {
  const [first = '', ...rest] = path.split('.');
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const inner = { ...(isWire(target[first]) ? target[first] : {}) };
  put(inner, rest.join('.'), value);
  target[first] = inner;
}

function isWire(value: unknown): value is Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Shows a fact the way a service names it. */
export function show(names: Names, resource: Resource, fact: object, more: Wire = {}): Wire {
  const { letterCase = 'snake', paths = {} } = names;
  const own = `${resource}_id`;
  const flat: Record<string, unknown> = {};
  let id: Id = '';
  for (const [field, value] of Object.entries({ ...fact, ...more })) {
    if ((field === own || field === 'id') && isId(value)) id = value;
    const name = field === 'id' ? own : field;
    const special = isMessage(fact) ? messageField(names, field, fact) : jobField(names, field, value);
    if (special) {
      Object.assign(flat, special);
      continue;
    }
    if (field === 'template_id' && !names.hasTemplates) continue;
    const path = paths[`${resource}.${name}`];
    if (path === null) continue;
    const byDefault = name === own ? (names.id ?? inCase(own, letterCase)) : inCase(name, letterCase);
    put(flat, path ?? byDefault, field === 'agents' ? value : keysInCase(value, letterCase));
  }
  return names.wrap?.(resource, flat, id) ?? flat;
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number';
}

function isMessage(fact: object): fact is MessageFact {
  return 'message_id' in fact;
}

function messageField(names: Names, field: string, { author, text, created_at }: MessageFact): Wire | undefined {
  const { letterCase } = names;
  if (field === 'author') return names.author?.(author) ?? { [inCase('role', letterCase)]: author };
  if (field === 'text') return names.text?.(text);
  if (field === 'created_at') {
    return names.time?.(created_at) ?? { [inCase('created_at', letterCase)]: new Date(created_at).toISOString() };
  }
  return undefined;
}

function jobField(names: Names, field: string, value: unknown): Wire | undefined {
  return field === 'schedule' && isSchedule(value) ? names.schedule?.(value) : undefined;
}

function isSchedule(value: unknown): value is Schedule {
  return isWire(value) && isWire(value.data);
}

/** The name of a list of the resource. */
export function plural(resource: Resource, letterCase?: LetterCase): string {
  return inCase(`${resource}s`, letterCase);
}
