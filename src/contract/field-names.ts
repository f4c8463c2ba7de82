import type { Contract } from './contract.ts';
import type { JsonObject } from './json.ts';
import type { FieldValue } from './leaf-value.ts';
import {
  type AtLeaf,
  type FieldLeaf,
  fieldsOfResource,
  isLeafName,
  type ListLeaf,
  type OperationLeaf,
} from './leaves.ts';

/** The resources whose fields the tool reads (spec §2). */
export type Resource = 'space' | 'agent' | 'source' | 'message' | 'cron_job' | 'document' | 'file_attachment';

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

/** Returns the plural name of what a list has, as the spec spells it: `spaces`, `messages`. */
export function listedName(leaf: ListLeaf): string {
  return `${RESOURCE_OF[leaf]}s`;
}

/** Returns the id by which the items of a list are told apart. */
export function itemId(leaf: ListLeaf): `${ListedResource}.id` {
  return `${RESOURCE_OF[leaf]}.id`;
}

/** Normalized names of ids that any resource may have. `documentId` is generic, except for a document. */
export const GENERIC_IDS: ReadonlySet<string> = new Set([
  'id',
  'uuid',
  'uid',
  'guid',
  'pk',
  '$id',
  'gid',
  'sid',
  'objectid',
  'sysid',
  'identifier',
  'documentid',
]);

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

/** An accepted name of a field. */
interface AcceptedName {
  readonly leaf: FieldLeaf;
  /** An earlier rank wins; the values of one rank must agree. */
  readonly rank: number;
  /** The rest of the path below the name, normalized. */
  readonly rest: readonly string[];
}

/** The accepted names of the fields of one resource, and the suspicious ones. Caches spellings: lists are long. */
export class FieldNames {
  readonly resource: Resource;
  /** Normalized paths to objects that hold further fields of the resource, or all of them. */
  readonly places: FieldValue[number];
  /** The paths that are set for this service. They start at the top of the object. */
  readonly chosen: ReadonlyMap<FieldLeaf, FieldValue>;
  private readonly accepted = new Map<string, AcceptedName[]>();
  /** Normalized first names of chosen paths. */
  private readonly chosenNames: ReadonlySet<string>;
  private readonly suspects = new Map<FieldLeaf, RegExp>();
  private readonly spellings = new Map<string, string>();

  constructor(resource: Resource, contract: Contract) {
    this.resource = resource;
    const at = `${resource}.at`;
    const places = isAtLeaf(at) ? contract.field(at).flat() : ownNames(resource).map((name) => [name]);
    this.places = places.map((path) => path.map(normalizeName));
    const leaves = fieldsOfResource(resource);
    this.chosen = new Map(leaves.filter((leaf) => contract.isChosen(leaf)).map((leaf) => [leaf, contract.field(leaf)]));
    const chosenPaths = [...this.chosen.values()].flat(2).map((path) => path.map(normalizeName));
    this.chosenNames = new Set(chosenPaths.map(([name = '']) => name));
    // A name that is set for one field is not read for another: if `name` is the id, it is not the name.
    const taken = new Set(chosenPaths.map((path) => path.join('.')));
    for (const leaf of leaves.filter((each) => !this.chosen.has(each))) {
      contract.field(leaf).forEach((paths, rank) => {
        for (const [name = '', ...rest] of paths.map((path) => path.map(normalizeName))) {
          if (taken.has([name, ...rest].join('.'))) continue;
          this.accepted.set(name, [...this.acceptedAt(name), { leaf, rank, rest }]);
        }
      });
    }
  }

  /** Returns the fields that a key with this normalized name may have. */
  acceptedAt(name: string): readonly AcceptedName[] {
    return this.accepted.get(name) ?? [];
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

  /** Whether a key that no field accepts probably holds this one. */
  isSuspect(leaf: FieldLeaf, key: string): boolean {
    const name = this.normalize(key);
    if (this.accepted.has(name) || this.chosenNames.has(name)) return false;
    return this.pattern(leaf).test(name) && !NOT_SUSPECTS[fieldOf(leaf)]?.test(name);
  }

  /** Returns the fields for which an object has an accepted name at its top. `type` may be that of anything. */
  acceptedIn(object: JsonObject): ReadonlySet<FieldLeaf> {
    const names = Object.keys(object).map((key) => this.normalize(key));
    const found = names.filter((name) => name !== 'type').flatMap((name) => this.acceptedAt(name));
    return new Set(found.filter(({ rest }) => rest.length === 0).map(({ leaf }) => leaf));
  }

  /** Whether an object under this key may hold fields of the resource. `_source` is what a search engine found. */
  mayNest(key: string): boolean {
    if (key.startsWith('_')) return !OTHERS.test(key);
    const name = this.normalize(key);
    const isOther = Object.entries(NAMES).some(([other, { own }]) => other !== this.resource && own.includes(name));
    return !isOther && !OTHERS.test(name);
  }

  private pattern(leaf: FieldLeaf): RegExp {
    const known = this.suspects.get(leaf);
    if (known) return known;
    const source = SUSPECTS[fieldOf(leaf)]?.replaceAll('{own}', ownNames(this.resource).join('|'));
    const pattern = new RegExp(source === undefined ? '^(?!)' : `^(?:${source})$`);
    this.suspects.set(leaf, pattern);
    return pattern;
  }
}

const MAX_SPELLINGS = 10_000;

function isAtLeaf(name: string): name is AtLeaf {
  return isLeafName(name) && name.endsWith('.at');
}

function fieldOf(leaf: FieldLeaf): string {
  return leaf.slice(leaf.indexOf('.') + 1);
}
