import type { JsonObject } from './json.ts';
import type { FieldLeaf, ListLeaf, OperationLeaf } from './leaves.ts';

/** The resources whose fields the tool reads (spec §2), and the body of an error response. */
export type Resource = 'space' | 'agent' | 'source' | 'message' | 'cron_job' | 'document' | 'file_attachment' | 'error';

/** The accepted names of a field, normalized. */
export interface FieldRule {
  /** Lists of paths. An earlier list (rank) wins; the values of one rank must agree. */
  readonly ranks: readonly (readonly (readonly string[])[])[];
  /** Whether they are set for this service: then a path starts at the top of the object. */
  readonly isChosen: boolean;
}

/** Returns a text that is equal for all spellings of a name: `space_id`, `spaceId`, `SpaceId`, `space-id`. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
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
  error: { own: ['error'] },
};

/** What each operation lists or creates. */
export const RESOURCE_OF = {
  'spaces.list': 'space',
  'spaces.provision': 'space',
  'agents.list': 'agent',
  'sources.setup': 'source',
  'messages.send': 'message',
  'messages.history': 'message',
  'documents.create': 'document',
  'file_attachments.create': 'file_attachment',
  'cron_jobs.create': 'cron_job',
  'cron_jobs.list': 'cron_job',
} as const satisfies Record<OperationLeaf, Resource>;

/** A resource that the service lists. */
export type ListedResource = (typeof RESOURCE_OF)[ListLeaf];

/** A resource that a write creates. */
export type CreatedResource = (typeof RESOURCE_OF)[Exclude<OperationLeaf, ListLeaf>];

/** Returns the normalized names under which an object nests a resource. */
export function ownNames(resource: Resource): readonly string[] {
  return NAMES[resource].own;
}

/** Returns the normalized names of a list of a resource. */
export function listNames(resource: Resource): readonly string[] {
  const { own, lists = [] } = NAMES[resource];
  return [...own.map((name) => `${name}s`), ...lists];
}

function isResource(name: string): name is Resource {
  return Object.hasOwn(NAMES, name);
}

/** Returns the plural name of what a list has, as the spec spells it: `spaces`, `messages`. */
export function listedName(leaf: ListLeaf): string {
  return `${RESOURCE_OF[leaf]}s`;
}

/** Returns the id by which the items of a list are told apart. */
export function itemId(leaf: ListLeaf): FieldLeaf {
  return `${RESOURCE_OF[leaf]}.id`;
}

/** Returns the resource that has a field. */
export function resourceOf(leaf: FieldLeaf): Resource {
  const [resource = ''] = leaf.split('.');
  return isResource(resource) ? resource : 'error';
}

/** Keys under which any resource may have its fields, beside its own name. */
export const PARTS: readonly string[] = ['attributes', 'properties', 'fields', 'node', 'resource', 'record'];

/** Names of ids that any resource may have, and those of well-known platforms, of which some call every id `documentId`. */
export const EQUAL_IDS = ['id', 'uuid', 'uid', 'guid', 'pk', '_id', '$id'];
export const OTHER_IDS = ['gid', 'sid', 'object_id', 'sys_id', 'identifier'];
export const GENERIC_IDS: ReadonlySet<string> = new Set([...EQUAL_IDS, ...OTHER_IDS, 'document_id'].map(normalizeName));

/** Fields that every resource has. Others may be absent. */
export const ESSENTIAL: readonly FieldLeaf[] = [
  'space.id',
  'space.external_space_id',
  'space.name',
  'agent.id',
  'agent.name',
  'message.id',
  'message.text',
  'message.author',
  'cron_job.id',
  'cron_job.agent_id',
  'cron_job.name',
];

/* Names that probably hold a field, but are not accepted for it: what is under them is not read, and not passed over. */

const ID = '(?:id|uuid|guid|uid|key|ref|reference|identifier|number|no|code|slug|handle|urn|arn|sid)';
const BEFORE_NAME = '(?:display|full|friendly|short|public)?';

/** By field; `{own}` stands for the names of the resource. */
const SUSPECTS: Readonly<Record<string, string>> = {
  id: `(?:(?:{own})[a-z]*)?${ID}|(?:{own})`,
  external_space_id: `(?:external|ext|customer|foreign)(?:{own}|customer|account)?${ID}?|partner(?:key|ref|reference|code)|reference`,
  name: `(?:{own})?${BEFORE_NAME}(?:name|title|label|caption)`,
  description: `(?:{own})?${BEFORE_NAME}(?:description|desc|about|summary)`,
  is_org_wide: '(?:is)?(?:org|organization|organisation)(?:wide|shared|scoped)',
  template_id: `(?:agent)?(?:template|blueprint)${ID}?`,
  agent_id: `(?:target|assigned)?(?:agent|assistant|bot)${ID}?`,
  source_id: `(?:api)?(?:chat)?source${ID}?`,
  session_id: `(?:chat)?(?:session|conversation|thread)${ID}?`,
  text: '[a-z]*(?:text|content|body|message|msg|markdown|html|utterance)',
  author:
    '[a-z]*(?:author|role|sender|direction|actor|origin|speaker|isbot|fromme|participant)[a-z]*|(?:message)?(?:source|side)',
  created_at:
    '[a-z]*(?:created|sent|posted|inserted|published|written|occurred|received|time|timestamp|date)(?:at|on|utc|ms|written|sent|created|posted)?',
  external_message_id: `(?:external|ext|client)(?:message)?${ID}`,
  instructions: '[a-z]*(?:instruction|prompt|task)s?(?:text|body)?',
  schedule: '[a-z]*(?:schedule|cron|recurrence|rrule|crontab)[a-z]*',
  timezone: '[a-z]*(?:timezone|zone|tz)[a-z]*',
};
/** What hides something else although it would be suspicious: the time of a change is not that of writing. */
const NOT_SUSPECTS: Readonly<Record<string, RegExp>> = {
  created_at: /updat|modif|edit|chang|delet|read|seen|deliver|expir|last|next/,
  name: /^(?:file|user|owner)/,
  text: /context/,
  author: /id$/,
};
/** Objects about something else: what is in them is not suspicious. */
const OTHERS =
  /^(?:owner|user|author|sender|creator|createdby|updatedby|account|organi[sz]ation|org|tenant|team|parent|customer|partner|recipient|recipients|to|target|audience|channel|attachments?|operation|task|request|command|links?|_links|meta|metadata|pagination|error|template)$/;

/** A key under which an object may have a field. */
export interface Candidate {
  /** The position in the ranks of the field's rule. */
  readonly rank: number;
  readonly key: string;
  /** Normalized. */
  readonly name: string;
  /** The rest of the path below the key. */
  readonly rest: readonly string[];
}

const NO_MATCH = /^(?!)/;

/** The accepted names of the fields of one resource, and the suspicious ones. Caches spellings: lists are long. */
export class FieldNames {
  readonly resource: Resource;
  /** Paths to objects that hold further fields of the resource, or all of them. */
  readonly places: readonly (readonly string[])[];
  private readonly rules: ReadonlyMap<FieldLeaf, FieldRule>;
  private readonly accepted: ReadonlySet<string>;
  private readonly spellings = new Map<string, string>();
  private readonly suspects = new Map<FieldLeaf, RegExp>();
  /** The keys of the last object, and where its fields are: most objects of a list have the same keys. */
  private lastKeys: readonly string[] = [];
  private readonly known = new Map<FieldLeaf, readonly Candidate[]>();

  /** @param places normalized paths to the objects that may hold the fields, beside the item itself */
  constructor(
    resource: Resource,
    rules: ReadonlyMap<FieldLeaf, FieldRule>,
    places: readonly (readonly string[])[] = [],
  ) {
    this.resource = resource;
    this.places = places;
    this.rules = withoutChosen(rules);
    const first = [...this.rules.values()].flatMap(({ ranks }) => ranks.flat().map(([name = '']) => name));
    this.accepted = new Set(first);
  }

  rule(leaf: FieldLeaf): FieldRule {
    return this.rules.get(leaf) ?? { ranks: [], isChosen: false };
  }

  /** Returns the normalized name of a key. */
  normalize(key: string): string {
    const known = this.spellings.get(key);
    if (known !== undefined) return known;
    const name = normalizeName(key);
    // Objects may have arbitrary keys.
    if (this.spellings.size < MAX_SPELLINGS) this.spellings.set(key, name);
    return name;
  }

  /** Returns the keys under which an object may have a field, by rank. */
  candidates(leaf: FieldLeaf, keys: readonly string[]): readonly Candidate[] {
    if (keys !== this.lastKeys) {
      const isSame = keys.length === this.lastKeys.length && keys.every((key, index) => key === this.lastKeys[index]);
      if (!isSame) this.known.clear();
      this.lastKeys = keys;
    }
    const known = this.known.get(leaf);
    if (known) return known;
    const found = this.rule(leaf).ranks.flatMap((paths, rank) =>
      paths.flatMap(([name = '', ...rest]) =>
        keys.filter((key) => this.normalize(key) === name).map((key) => ({ rank, key, name, rest })),
      ),
    );
    this.known.set(leaf, found);
    return found;
  }

  /** Whether a key that no field accepts probably holds this one. */
  isSuspect(leaf: FieldLeaf, key: string): boolean {
    const name = this.normalize(key);
    return !this.accepted.has(name) && this.pattern(leaf).test(name) && !NOT_SUSPECTS[fieldOf(leaf)]?.test(name);
  }

  /** Returns the fields for which an object has an accepted name at its top. `type` may be that of anything. */
  acceptedIn(object: JsonObject): ReadonlySet<FieldLeaf> {
    const names = new Set(Object.keys(object).map((key) => this.normalize(key)));
    const isIn = ([name = '', ...rest]: readonly string[]) => rest.length === 0 && name !== 'type' && names.has(name);
    const leaves = [...this.rules].filter(([, { ranks }]) => ranks.some((rank) => rank.some(isIn)));
    return new Set(leaves.map(([leaf]) => leaf));
  }

  /** Whether an object under this key may hold fields of the resource. */
  mayNest(key: string): boolean {
    const name = this.normalize(key);
    // `_source` is what a search engine found, not the source of a chat.
    if (key.startsWith('_')) return !OTHERS.test(key);
    const isOther = Object.entries(NAMES).some(([other, { own }]) => other !== this.resource && own.includes(name));
    return !isOther && !OTHERS.test(name);
  }

  private pattern(leaf: FieldLeaf): RegExp {
    const known = this.suspects.get(leaf);
    if (known) return known;
    const own = ownNames(this.resource).join('|');
    const source = SUSPECTS[fieldOf(leaf)]?.replaceAll('{own}', own);
    const pattern = source === undefined ? NO_MATCH : new RegExp(`^(?:${source})$`);
    this.suspects.set(leaf, pattern);
    return pattern;
  }
}

const MAX_SPELLINGS = 10_000;

function fieldOf(leaf: FieldLeaf): string {
  return leaf.slice(leaf.indexOf('.') + 1);
}

/** A name that is set for one field is not read for another: if `name` is the id, it is not the name. */
function withoutChosen(rules: ReadonlyMap<FieldLeaf, FieldRule>): ReadonlyMap<FieldLeaf, FieldRule> {
  const chosen = [...rules.values()].filter(({ isChosen }) => isChosen).flatMap(({ ranks }) => ranks.flat());
  const taken = new Set(chosen.map((path) => path.join('.')));
  if (taken.size === 0) return rules;
  const rest = (rule: FieldRule): FieldRule =>
    rule.isChosen
      ? rule
      : { ...rule, ranks: rule.ranks.map((rank) => rank.filter((path) => !taken.has(path.join('.')))) };
  return new Map([...rules].map(([leaf, rule]) => [leaf, rest(rule)]));
}
