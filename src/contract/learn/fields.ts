import { readAgent } from '../agents.ts';
import { type ContractFix, UnknownShape } from '../assumptions.ts';
import { decodeChatSource } from '../chat-source.ts';
import type { Contract } from '../contract.ts';
import { readCreatedCronJob, readCronJob } from '../cron.ts';
import type { Resource } from '../field-names.ts';
import { fieldsOf } from '../fields.ts';
import { describeFields, isJsonObject, type JsonObject, jsonText } from '../json.ts';
import { type FieldLeaf, isLeafName, LEAVES, type ListLeaf, type OperationLeaf } from '../leaves.ts';
import { likelyPaths, wordsOf } from '../likely-names.ts';
import { decodeAcknowledgement, decodeMessage } from '../messages.ts';
import { OpenApiDocument } from '../openapi/document.ts';
import { matchFields, type ResourceName } from '../openapi/match-fields.ts';
import { shapeOf } from '../openapi/shape.ts';
import { readProvisionResponse } from '../provisioning.ts';
import { readSpace } from '../spaces.ts';
import { readUploadId } from '../uploads.ts';
import type { Evidence } from './evidence.ts';
import type { Exchange } from './exchange.ts';
import { schemaOf } from './schema.ts';

/** Objects of one resource, and where they were recorded. */
export interface TracedObjects {
  readonly resource: Resource & ResourceName;
  /** `GET /spaces, items`. */
  readonly where: string;
  /** Whether the objects are the resource itself, not responses that contain it. */
  readonly areItems: boolean;
  readonly objects: readonly JsonObject[];
  readonly exchanges: readonly Exchange[];
  /** Reads one of the objects, as the client does. @throws UnknownShape */
  readonly read: (object: JsonObject, contract: Contract) => unknown;
}

/** How the client reads the items of each list. */
export const LISTED: Readonly<Record<ListLeaf, Pick<TracedObjects, 'resource' | 'read'>>> = {
  'spaces.list': { resource: 'space', read: readSpace },
  'agents.list': { resource: 'agent', read: readAgent },
  'cron_jobs.list': { resource: 'cron_job', read: readCronJob },
  'messages.history': { resource: 'message', read: decodeMessage },
};

/** How the client reads the response of each write. */
export const WRITTEN: Readonly<Partial<Record<OperationLeaf, Pick<TracedObjects, 'resource' | 'read'>>>> = {
  'spaces.provision': { resource: 'space', read: readProvisionResponse },
  'sources.setup': { resource: 'source', read: decodeChatSource },
  'messages.send': { resource: 'message', read: decodeAcknowledgement },
  'cron_jobs.create': { resource: 'cron_job', read: readCreatedCronJob },
  'documents.create': { resource: 'document', read: (body, contract) => readUploadId(body, 'document', contract) },
  'file_attachments.create': {
    resource: 'file_attachment',
    read: (body, contract) => readUploadId(body, 'attachment', contract),
  },
};

/** Fields that commands need. If the client finds none, its likeliest path is searched for. */
const ESSENTIAL: readonly FieldLeaf[] = [
  'space.external_space_id',
  'space.name',
  'agent.name',
  'message.text',
  'message.author',
  'cron_job.agent_id',
  'cron_job.name',
];

/** How many objects of a resource are read. */
const MAX_OBJECTS = 500;
/** How many fields of a resource can be learned. */
const MAX_ROUNDS = 20;

function isFieldLeaf(name: string): name is FieldLeaf {
  return isLeafName(name) && LEAVES[name].kind === 'field';
}

interface Refusal {
  readonly leaf: FieldLeaf;
  readonly object: JsonObject;
  readonly error: UnknownShape;
}

/** Returns the first field that the client cannot read and that a leaf could fix. */
function firstRefusal({ objects, read }: TracedObjects, contract: Contract): Refusal | undefined {
  for (const object of objects.slice(0, MAX_OBJECTS)) {
    try {
      read(object, contract);
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      const leaf = error.fix?.leaf;
      if (leaf !== undefined && isFieldLeaf(leaf)) return { leaf, object, error };
    }
  }
  return undefined;
}

function isPresent(object: JsonObject, resource: Resource, leaf: FieldLeaf, contract: Contract): boolean {
  try {
    const fields = fieldsOf(object, resource, contract);
    return leaf.endsWith('.id') ? fields.id(leaf) !== undefined : fields.all(leaf).length > 0;
  } catch (error) {
    // Candidates that disagree are reported by `firstRefusal`.
    if (error instanceof UnknownShape) return true;
    throw error;
  }
}

/** Returns the first essential field that the client finds in no object. */
function firstMissing(
  { objects, resource, areItems }: TracedObjects,
  contract: Contract,
  given: ReadonlySet<FieldLeaf>,
): FieldLeaf | undefined {
  if (!areItems) return undefined;
  const own = ESSENTIAL.filter((leaf) => leaf.startsWith(`${resource}.`) && !given.has(leaf));
  return own.find((leaf) => !objects.some((object) => isPresent(object, resource, leaf, contract)));
}

/** Returns the paths of candidates that disagree, or that may be the field, the likeliest first. */
function candidatesFor(
  leaf: FieldLeaf,
  traced: TracedObjects,
  contract: Contract,
  refused: JsonObject | undefined,
): readonly string[] {
  const { objects, resource } = traced;
  const sent = objects.flatMap((object) => fieldsOf(object, resource, contract).all(leaf));
  const disagreeing = new Set(sent.filter(({ value }) => value !== null).map(({ path }) => path));
  if (refused && disagreeing.size > 1) return [...disagreeing];
  const named = namedPath(leaf, traced);
  if (named !== undefined) return [named];
  // The client can read the object without this field, so accept only an unambiguous name.
  if (refused === undefined) return [];
  const likely = proposedPaths(leaf, refused, traced, contract).filter((path) => isInAll(objects, path, leaf));
  // Prefer a name with a word of the resource: spaceRef to ownerRef.
  const own = likely.filter((path) => wordsOf(path).some((word) => resource.split('_').includes(word)));
  return own.length === 1 ? own : likely;
}

/**
 * Returns the paths that are likely by their names, if the fix that the client proposes is among them. Otherwise returns
 * that fix, and those that the client proposes without it.
 */
function proposedPaths(
  leaf: FieldLeaf,
  refused: JsonObject,
  { read }: TracedObjects,
  contract: Contract,
): readonly string[] {
  const likely = likelyPaths(refused, leaf, contract);
  const first = fixOf(() => read(refused, contract));
  if (first && likely.includes(first.value)) return likely;
  const paths: string[] = [];
  for (let object = refused; paths.length < MAX_ROUNDS; ) {
    const fix = fixOf(() => read(object, contract));
    const [key = '', ...deeper] = fix?.leaf === leaf ? fix.value.split('.') : [];
    if (fix === undefined || !Object.hasOwn(object, key)) return paths;
    paths.push([key, ...deeper].join('.'));
    const { [key]: _, ...others } = object;
    object = others;
  }
  return paths;
}

function fixOf(read: () => unknown): ContractFix | undefined {
  try {
    read();
  } catch (error) {
    if (error instanceof UnknownShape) return error.fix;
    throw error;
  }
  return undefined;
}

/** Returns the path that `contract import` would choose if a document described these objects. */
function namedPath(leaf: FieldLeaf, { resource, objects }: TracedObjects): string | undefined {
  const document = new OpenApiDocument({});
  const shape = shapeOf(document, [schemaOf(objects.slice(0, MAX_OBJECTS))]);
  const path = matchFields(document, resource, shape)
    .find((found) => found.leaf === leaf)
    ?.path?.join('.');
  return path !== undefined && isInAll(objects, path, leaf) ? path : undefined;
}

function valueAt(object: JsonObject, path: string): unknown {
  return path.split('.').reduce<unknown>((value, step) => (isJsonObject(value) ? value[step] : undefined), object);
}

/** Whether all objects have a value at a path; ids must differ. */
function isInAll(objects: readonly JsonObject[], path: string, leaf: FieldLeaf): boolean {
  const values = objects
    .map((object) => valueAt(object, path))
    .filter((value) => value !== undefined && value !== null);
  if (values.length < objects.length) return false;
  return !leaf.endsWith('.id') || new Set(values.map(jsonText)).size === new Set(objects).size || values.length === 1;
}

/** Returns the value of a leaf for a path. An id may have its usual name in other responses. */
function valueFor(leaf: FieldLeaf, path: string): string {
  return leaf.endsWith('.id') ? `${path}, ${LEAVES[leaf].value}` : path;
}

function distinct(objects: readonly JsonObject[]): readonly JsonObject[] {
  const seen = new Map(objects.map((object) => [JSON.stringify(object, bigintAsText), object]));
  return [...seen.values()];
}

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}

/**
 * Reads the objects of a resource as the client does. Searches for each field that the client cannot read or that is
 * missing, and adds it if it has one likely path.
 * @returns the contract with what was learned
 */
export function addFields(given: TracedObjects, contract: Contract, evidence: Evidence): Contract {
  const traced = { ...given, objects: distinct(given.objects).slice(0, MAX_OBJECTS) };
  const { where, exchanges } = traced;
  const handled = new Set<FieldLeaf>();
  let learned = contract;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const refusal = firstRefusal(traced, learned);
    const leaf = refusal && !handled.has(refusal.leaf) ? refusal.leaf : firstMissing(traced, learned, handled);
    if (leaf === undefined) return learned;
    handled.add(leaf);
    const object = refusal?.object ?? traced.objects[0] ?? {};
    const candidates = candidatesFor(leaf, traced, learned, refusal?.leaf === leaf ? refusal.object : undefined);
    const [path] = candidates;
    for (const each of candidates.slice(0, 5)) {
      evidence.add(leaf, valueFor(leaf, each), `${where}: ${describeFields(object)}`, exchanges);
    }
    if (path === undefined && refusal?.leaf === leaf) {
      evidence.ask(leaf, `line ${exchanges[0]?.line}, ${where}: ${refusal.error.message} It is ${refusal.error.seen}.`);
    }
    if (path !== undefined && candidates.length === 1) learned = learned.withObserved(leaf, valueFor(leaf, path));
    // Other fields can be found only once the id is known.
    else if (leaf.endsWith('.id')) return learned;
  }
  return learned;
}
