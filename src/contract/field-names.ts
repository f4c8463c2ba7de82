import type { JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';
import { isLikelyName } from './likely-names.ts';

/** The resources whose fields the tool reads (spec §2), and the body of an error response. */
export type Resource = 'space' | 'agent' | 'source' | 'message' | 'cron_job' | 'document' | 'file_attachment' | 'error';

/** The candidates for a field, with normalized names. */
export interface FieldRule {
  /** Lists of paths. An earlier list (rank) wins; the values of one rank must agree. */
  readonly ranks: readonly (readonly (readonly string[])[])[];
  /** Whether the candidates are set for this service: then a path starts at the top of the object. */
  readonly isChosen: boolean;
}

/** Returns a text that is equal for all spellings of a name: `space_id`, `spaceId`, `SpaceId`, `space-id`. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** Normalized names under which an object nests a resource: its own, and those in paths and of other services. */
const OWN_NAMES: Readonly<Record<Resource, readonly string[]>> = {
  space: ['space', 'workspace'],
  agent: ['agent'],
  source: ['source', 'apichat', 'apichatsource'],
  message: ['message'],
  cron_job: ['cronjob', 'partnercronjob', 'job'],
  document: ['document'],
  file_attachment: ['fileattachment', 'attachment', 'file'],
  error: ['error'],
};

/** Returns the normalized names under which an object nests a resource. */
export function ownNames(resource: Resource): readonly string[] {
  return OWN_NAMES[resource];
}

/** Whether a normalized name is that of a resource. */
export function isResourceName(name: string): boolean {
  return Object.values(OWN_NAMES).some((names) => names.includes(name));
}

function isResource(name: string): name is Resource {
  return Object.hasOwn(OWN_NAMES, name);
}

/** Returns the resource that has a field. */
export function resourceOf(leaf: FieldLeaf): Resource {
  const [resource = ''] = leaf.split('.');
  return isResource(resource) ? resource : 'error';
}

/** What a nested object is: an envelope of the resource, or a part of it. */
export type Nesting = 'envelope' | 'part';

const NESTINGS: Readonly<Record<string, Nesting>> = {
  node: 'envelope',
  entity: 'envelope',
  resource: 'envelope',
  record: 'envelope',
  item: 'envelope',
  entry: 'envelope',
  doc: 'envelope',
  attributes: 'part',
  properties: 'part',
  fields: 'part',
};

/** Moves the path that is set for the id to the last rank of other fields: if `name` is the id, it is not the name. */
function withoutChosenId(rules: ReadonlyMap<FieldLeaf, FieldRule>): ReadonlyMap<FieldLeaf, FieldRule> {
  const [id] = [...rules].filter(([leaf, { isChosen }]) => isChosen && leaf.endsWith('.id'));
  const chosen = new Set((id?.[1].ranks ?? []).flat().map((path) => path.join('.')));
  const isId = (path: readonly string[]): boolean => chosen.has(path.join('.'));
  const entries = [...rules].map(([leaf, rule]): [FieldLeaf, FieldRule] => {
    if (leaf === id?.[0] || rule.isChosen || !rule.ranks.flat().some(isId)) return [leaf, rule];
    const rest = rule.ranks.map((rank) => rank.filter((path) => !isId(path)));
    return [leaf, { ...rule, ranks: [...rest, rule.ranks.flat().filter(isId)] }];
  });
  return new Map(entries);
}

/** Which key of flat objects may hold a field. */
export type OnlyKey =
  | { readonly kind: 'none' }
  | { readonly kind: 'one'; readonly key: string }
  | { readonly kind: 'several' };

/** By field, what is known about flat objects that have the same keys. */
export type FlatKeys = Map<FieldLeaf, OnlyKey>;

/** Limits the caches: objects may have arbitrary keys. */
const MAX_CACHED = 10_000;

/** The names of the fields of one resource. Caches spellings, so that long lists are read quickly. */
export class FieldNames {
  private readonly rules: ReadonlyMap<FieldLeaf, FieldRule>;
  private readonly nestings: ReadonlyMap<string, Nesting>;
  private readonly names: ReadonlySet<string>;
  private readonly known = new Map<string, string | undefined>();
  private readonly likely = new Map<string, boolean>();
  /** The keys of the last flat object, and what is known about them. */
  private flat: { readonly keys: readonly string[]; readonly known: FlatKeys } = { keys: [], known: new Map() };

  constructor(resource: Resource, rules: ReadonlyMap<FieldLeaf, FieldRule>) {
    this.rules = withoutChosenId(rules);
    const own = OWN_NAMES[resource].map((name): [string, Nesting] => [name, 'envelope']);
    this.nestings = new Map([...Object.entries(NESTINGS), ...own]);
    const starts = [...rules.values()].flatMap(({ ranks }) => ranks.flat().map(([first = '']) => first));
    this.names = new Set([...starts, ...this.nestings.keys()]);
  }

  rule(leaf: FieldLeaf): FieldRule {
    return this.rules.get(leaf) ?? { ranks: [], isChosen: false };
  }

  /** What an object under a normalized name is; undefined if it is not searched. */
  nesting(name: string): Nesting | undefined {
    return this.nestings.get(name);
  }

  /** Whether a key that is not a candidate probably holds the field. */
  isLikely(leaf: FieldLeaf, key: string): boolean {
    const pair = `${leaf} ${key}`;
    const known = this.likely.get(pair);
    if (known !== undefined) return known;
    const isLikely = this.nameOf(key) === undefined && isLikelyName(leaf, key);
    if (this.likely.size < MAX_CACHED) this.likely.set(pair, isLikely);
    return isLikely;
  }

  /** Returns what is known about the keys of an object; undefined if other objects or lists are nested in it. */
  flatKeys(object: JsonObject): FlatKeys | undefined {
    const keys = Object.keys(object);
    let isLast = keys.length === this.flat.keys.length;
    let index = 0;
    for (const key of keys) {
      const value = object[key];
      if (typeof value === 'object' && value !== null) return undefined;
      isLast &&= key === this.flat.keys[index];
      index += 1;
    }
    if (!isLast) this.flat = { keys, known: new Map() };
    return this.flat.known;
  }

  /** Returns the normalized name of a key; undefined if no field of the resource has that name. */
  nameOf(key: string): string | undefined {
    if (this.known.has(key)) return this.known.get(key);
    const normalized = normalizeName(key);
    const name = this.names.has(normalized) ? normalized : undefined;
    if (this.known.size < MAX_CACHED) this.known.set(key, name);
    return name;
  }
}
