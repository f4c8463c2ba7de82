import { isLikelyName } from './kinship.ts';
import type { FieldLeaf } from './leaves.ts';

/** The resources whose fields the tool reads (spec §2), and the body of an error response. */
export type Resource = 'space' | 'agent' | 'source' | 'message' | 'cron_job' | 'document' | 'file_attachment' | 'error';

/** How a field is found: the candidates of its leaf with normalized names. */
export interface FieldRule {
  /** Ranks, of which an earlier one wins; in a rank, equals that must agree; each a path of names. */
  readonly ranks: readonly (readonly (readonly string[])[])[];
  /** Whether the candidates were chosen for this service, so that a path from the top is meant as it is written. */
  readonly isChosen: boolean;
}

/** Returns the form of a name in which its spellings are equal: `space_id`, `spaceId`, `SpaceId`, `space-id`. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** Names under which an object nests the resource itself: its own and those that paths and services use for it. */
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

/** The normalized names under which an object nests the resource. */
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

/** What an object with a certain name contains: the resource (an envelope), or a part of the resource. */
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

/** Gives the path that was chosen for the id the lowest rank for other fields: if `name` is the id, it is not the name. */
function withoutChosenId(rules: ReadonlyMap<FieldLeaf, FieldRule>): ReadonlyMap<FieldLeaf, FieldRule> {
  const [id] = [...rules].filter(([leaf, { isChosen }]) => isChosen && leaf.endsWith('.id'));
  const chosen = new Set((id?.[1].ranks ?? []).flat().map((path) => path.join('.')));
  const isTaken = (path: readonly string[]): boolean => chosen.has(path.join('.'));
  const entries = [...rules].map(([leaf, rule]): [FieldLeaf, FieldRule] => {
    if (leaf === id?.[0] || rule.isChosen || !rule.ranks.flat().some(isTaken)) return [leaf, rule];
    const rest = rule.ranks.map((rank) => rank.filter((path) => !isTaken(path)));
    return [leaf, { ...rule, ranks: [...rest, rule.ranks.flat().filter(isTaken)] }];
  });
  return new Map(entries);
}

/** Objects with arbitrary keys would fill the memory. */
const MAX_KNOWN = 10_000;

/** The names that matter in the objects of one resource. Remembers spellings, so that a long list is read quickly. */
export class FieldNames {
  private readonly rules: ReadonlyMap<FieldLeaf, FieldRule>;
  private readonly nestings: ReadonlyMap<string, Nesting>;
  private readonly names: ReadonlySet<string>;
  private readonly known = new Map<string, string | undefined>();
  private readonly likely = new Map<string, boolean>();

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

  /** How objects under this normalized name are searched; undefined if they are not. */
  nesting(name: string): Nesting | undefined {
    return this.nestings.get(name);
  }

  /** Whether a key that no candidate names is probably the field. */
  isLikely(leaf: FieldLeaf, key: string): boolean {
    const pair = `${leaf} ${key}`;
    const known = this.likely.get(pair);
    if (known !== undefined) return known;
    const isLikely = this.nameOf(key) === undefined && isLikelyName(leaf, key);
    if (this.likely.size < MAX_KNOWN) this.likely.set(pair, isLikely);
    return isLikely;
  }

  /** Returns the normalized name of a key; undefined if no field of the resource is called so. */
  nameOf(key: string): string | undefined {
    if (this.known.has(key)) return this.known.get(key);
    const normalized = normalizeName(key);
    const name = this.names.has(normalized) ? normalized : undefined;
    if (this.known.size < MAX_KNOWN) this.known.set(key, name);
    return name;
  }
}
