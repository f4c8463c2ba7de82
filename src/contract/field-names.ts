import type { JsonObject } from './json.ts';
import type { FieldValue } from './leaf-values.ts';
import { type AtLeaf, type FieldLeaf, fieldsOfResource, isLeafName } from './leaves.ts';

/** The resources whose fields the tool reads (spec §2). */
export const RESOURCES = ['space', 'agent', 'source', 'message', 'cron_job', 'document', 'file_attachment'] as const;

export type Resource = (typeof RESOURCES)[number];

interface Settings {
  field(name: FieldLeaf | AtLeaf): FieldValue;
  isChosen(name: FieldLeaf): boolean;
}

/** Returns a text that is equal for all spellings of a name: `space_id`, `spaceId`, `SpaceId`, `space-id`. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** Returns the values of an object by normalized name. */
export function byNormalName(object: JsonObject): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(object).map(([key, value]) => [normalizeName(key), value]));
}

/** Normalized names under which an object nests a resource, and those of its lists beside their plurals. */
const NAMES: Readonly<Record<Resource, { readonly own: readonly string[]; readonly lists?: readonly string[] }>> = {
  space: { own: ['space', 'workspace'] },
  agent: { own: ['agent'], lists: ['assistants'] },
  source: { own: ['source', 'apichat', 'apichatsource'] },
  message: { own: ['message'], lists: ['history', 'chatmessages'] },
  cron_job: { own: ['cronjob', 'partnercronjob', 'job'], lists: ['schedules'] },
  document: { own: ['document'] },
  file_attachment: { own: ['fileattachment', 'attachment', 'file'] },
};

/** Returns the normalized names under which an object nests a resource. */
export function ownNames(resource: Resource): readonly string[] {
  return NAMES[resource].own;
}

/** Returns the normalized names of a list of a resource. */
export function listNames(resource: Resource): readonly string[] {
  const { own, lists = [] } = NAMES[resource];
  return [...own.map((name) => `${name}s`), ...lists];
}

/* Names that probably hold a field, but are not accepted for it: what is under them is refused. */

const ID = '(?:[ugs]?id|uuid|guid|pk|key|ref|reference|identifier|number|no|code|slug|handle|urn|arn)';
const BEFORE_NAME = '(?:display|full|friendly|short|public)?';

/** By field; `{own}` stands for the names of the resource. */
const SUSPECTS: Readonly<Record<string, string>> = {
  id: `(?:(?:{own})[a-z]*|document|object|sys|\\$)?${ID}|(?:{own})`,
  external_space_id: `(?:external|ext|customer|foreign)(?:{own}|customer|account)?${ID}?|partner(?:key|ref|reference|code)|reference`,
  name: `(?:{own})?${BEFORE_NAME}(?:name|title|label|caption)`,
  description: `(?:{own})?${BEFORE_NAME}(?:description|desc|about|summary)`,
  agent_id: `(?:target|assigned)?(?:agent|assistant|bot)${ID}?`,
  session_id: `(?:chat)?(?:session|conversation|thread)${ID}?`,
  text: '(?!.*context)[a-z]*(?:text|content|body|message|msg|markdown|html|utterance)(?:plain)?|payload|data',
  author:
    '(?!.*id$)[a-z]*(?:author|role|sender|direction|actor|origin|speaker|participant|incoming|outgoing)[a-z]*|(?:message)?(?:source|side)|(?:is|from)(?:bot|agent|assistant|ai|user|customer|human|me)|(?:created|sent|written|posted)by',
  // The time of a change, or of anything else, is not that of writing.
  created_at:
    '(?!.*(?:updat|modif|edit|chang|delet|read|seen|deliver|expir|last|next))[a-z]*(?:created?|sent|posted|inserted|published|written|occurred|received|time|timestamp|date)(?:at|on|utc|gmt|ms|written|sent|created|posted)?',
};
/** Names of objects about something else: what is in them is not suspicious. */
const UNRELATED =
  /^(?:owner|user|author|sender|creator|createdby|updatedby|account|organi[sz]ation|org|tenant|team|parent|customer|partner|recipient|recipients|to|target|audience|channel|attachments?|operation|task|request|command|links?|meta|metadata|pagination|error|template)$/;

function normalizePath(path: readonly string[]): string {
  return path.map(normalizeName).join('.');
}

function parentsOf(path: string): readonly string[] {
  return [...path.matchAll(/\./g)].map(({ index }) => path.slice(0, index));
}

/** A field that is read from a path. An earlier rank wins; the values of one rank must agree. */
interface Accepted {
  readonly leaf: FieldLeaf;
  readonly rank: number;
  /** Such a path begins at the top, and not in any object that holds fields. */
  readonly isChosen: boolean;
}

const NONE: readonly Accepted[] = [];

/** The accepted names of the fields of one resource, and the suspicious ones. All paths are normalized. */
export class FieldNames {
  readonly resource: Resource;
  private readonly accepted = new Map<string, readonly Accepted[]>();
  readonly parents: ReadonlySet<string>;
  /** The objects that may have every field. */
  readonly holders: ReadonlySet<string>;
  private readonly suspects: ReadonlyMap<FieldLeaf, RegExp>;
  /** What `normalize` returned: the 100,000 objects of a list have the same few names. */
  private readonly normalized = new Map<string, string>();

  constructor(resource: Resource, contract: Settings) {
    this.resource = resource;
    const at = `${resource}.at` as const;
    const places = isLeafName(at) ? contract.field(at).flat() : ownNames(resource).map((name) => [name]);
    this.holders = new Set(places.map(normalizePath));
    const leaves = fieldsOfResource(resource);
    const chosen = leaves.filter((leaf) => contract.isChosen(leaf));
    // A name that is set for one field is not read for another: if `name` is the id, it is not the name.
    const taken = new Set(chosen.flatMap((leaf) => contract.field(leaf).flat()).map(normalizePath));
    for (const leaf of leaves) {
      const isChosen = chosen.includes(leaf);
      for (const [rank, paths] of contract.field(leaf).entries())
        for (const path of paths.map(normalizePath).filter((each) => isChosen || !taken.has(each)))
          this.accepted.set(path, [...this.at(path), { leaf, rank, isChosen }]);
    }
    this.parents = new Set([...this.accepted.keys(), ...this.holders].flatMap(parentsOf));
    const own = ownNames(resource).join('|');
    const patternOf = (leaf: FieldLeaf) =>
      SUSPECTS[leaf.slice(leaf.indexOf('.') + 1)]?.replaceAll('{own}', own) ?? '(?!)';
    this.suspects = new Map(leaves.map((leaf) => [leaf, new RegExp(`^(?:${patternOf(leaf)})$`)]));
  }

  /** Returns a name as `normalizeName` does, but faster. */
  normalize(name: string): string {
    const known = this.normalized.get(name);
    if (known !== undefined) return known;
    const normal = normalizeName(name);
    this.normalized.set(name, normal);
    return normal;
  }

  /** Returns the fields at a path from the top, which may also be one from an object that holds fields. */
  at(fromTop: string, fromHolder?: string): readonly Accepted[] {
    const own = this.accepted.get(fromTop) ?? NONE;
    const held = fromHolder === undefined ? undefined : this.accepted.get(fromHolder);
    return held ? [...own, ...held.filter(({ isChosen }) => !isChosen)] : own;
  }

  accepts(leaf: FieldLeaf, key: string): boolean {
    return this.at(this.normalize(key)).some((each) => each.leaf === leaf);
  }

  /** Whether a key that no field accepts probably holds this one. */
  isSuspect(leaf: FieldLeaf, key: string): boolean {
    const name = this.normalize(key);
    return !this.accepted.has(name) && this.suspects.get(leaf)?.test(name) === true;
  }

  /** Whether an object under a key may hold fields of the resource, and is not about something else. */
  mayNest(key: string): boolean {
    const name = normalizeName(key);
    const isOther = Object.entries(NAMES).some(([other, { own }]) => other !== this.resource && own.includes(name));
    return !UNRELATED.test(name) && (!isOther || key.startsWith('_'));
  }
}
