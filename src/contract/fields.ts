import { assumptionOf, type ContractFix, UnknownShape } from './assumptions.ts';
import type { Contract } from './contract.ts';
import {
  type FieldNames,
  type FieldRule,
  type FlatKeys,
  normalizeName,
  type OnlyKey,
  type Resource,
  resourceOf,
} from './field-names.ts';
import { type Found, type FoundFields, findFields } from './found-fields.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';
import { proposePath } from './likely-names.ts';
import { GENERIC_IDS } from './resource-parts.ts';

/** What `ApiResponse` puts in place of a secret. It is never an id. */
const REDACTED = '[redacted]';

/** In Google's APIs, the name of a resource is its path. */
const RESOURCE_PATH = /^(?:[\w-]+s\/[^/\s]+\/)*[\w-]+s\/[^/\s]+$/;

const SEVERAL: OnlyKey = { kind: 'several' };

/** Returns an id as text; undefined for null, empty texts, booleans, fractions, and objects. */
function asId(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' || value.includes(REDACTED) ? undefined : value;
  if (typeof value === 'bigint') return String(value);
  return Number.isInteger(value) ? String(value) : undefined;
}

function isScalar(value: unknown): value is string | number | bigint | boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

/** Compares JSON values. A number equals its digits as a string. */
function isSame(a: unknown, b: unknown): boolean {
  if (isScalar(a) && isScalar(b)) return String(a) === String(b);
  const write = (value: unknown) =>
    JSON.stringify(value, (_, inner: unknown) => (isScalar(inner) ? String(inner) : inner));
  return write(a) === write(b);
}

/** The fields of a resource in one object of the service, at any place that the contract allows. */
export class Fields {
  private readonly object: JsonObject;
  private readonly names: FieldNames;
  private readonly contract: Contract;
  private readonly flatKeys: FlatKeys | undefined;
  private searched: FoundFields | undefined;

  constructor(object: JsonObject, resource: Resource, contract: Contract) {
    this.object = object;
    this.contract = contract;
    this.names = contract.namesOf(resource);
    this.flatKeys = this.names.flatKeys(object);
  }

  /** The objects that hold the fields: the object itself, and those nested in it. */
  get places(): readonly JsonObject[] {
    return this.found.places;
  }

  /**
   * Returns the value of a field: the first that is not null.
   * @returns null if the service sent only null; undefined if it sent nothing
   * @throws UnknownShape if candidates of one rank have different values
   */
  value(leaf: FieldLeaf): unknown {
    const only = this.onlyKey(leaf);
    if (only.kind !== 'several') return only.kind === 'none' ? undefined : this.object[only.key];
    let isNull = false;
    let index = -1;
    for (const rank of this.ranks(leaf)) {
      index += 1;
      isNull ||= rank.some(({ value }) => value === null);
      const values = rank.filter(({ value }) => value !== null && value !== undefined);
      const isPath = values.some(({ value }) => this.isResourcePath(leaf, value));
      if (values.length > 0 && !(isPath && this.hasLater(leaf, index))) return this.agreed(leaf, values);
    }
    return isNull ? null : undefined;
  }

  /** Returns every value that the service sent for a field, in the order of its candidates, even if they differ. */
  all(leaf: FieldLeaf): readonly Pick<Found, 'path' | 'value'>[] {
    return [...this.ranks(leaf)].flat();
  }

  /**
   * Returns a field that is a text, or a number as text; undefined if the service sent nothing or null.
   * @throws UnknownShape if it is anything else, or as `value`
   */
  text(leaf: FieldLeaf): string | undefined {
    const value = this.value(leaf);
    if (value === null || value === undefined) return undefined;
    if (isScalar(value)) return String(value);
    throw this.unreadable(leaf, `The ${leaf} of the response is not a text.`);
  }

  /**
   * Returns a field as `text` does.
   * @throws UnknownShape as `text`, or if the service probably sent the field under another name
   */
  shownText(leaf: FieldLeaf): string | undefined {
    const text = this.text(leaf);
    if (text !== undefined || this.names.rule(leaf).isChosen || this.value(leaf) === null) return text;
    const key = Object.keys(this.object).find((each) => this.names.isLikely(leaf, each) && this.isSent(each));
    if (key === undefined) return undefined;
    const message = `The response has no ${leaf}, but ${key} looks like it.`;
    throw new UnknownShape(assumptionOf(leaf), message, describeFields(this.object), { leaf, value: key });
  }

  /**
   * Returns the id of the resource. A specific name wins over a generic one; values that cannot be ids are skipped.
   * @throws UnknownShape as `value`
   */
  id(leaf: FieldLeaf): string | undefined {
    const only = this.onlyKey(leaf);
    if (only.kind !== 'several') return only.kind === 'none' ? undefined : asId(this.object[only.key]);
    for (const rank of this.ranks(leaf)) {
      const ids = rank.filter(({ value }) => asId(value) !== undefined);
      const depth = Math.max(...ids.map((each) => each.depth));
      const own = ids.filter((each) => !GENERIC_IDS.has(each.name) || each.depth === depth);
      if (own.length > 0) return asId(this.agreed(leaf, own));
    }
    return undefined;
  }

  /** Returns the id under a name that only this resource has, or at a path that is set for it. @throws as `value` */
  ownId(leaf: FieldLeaf): string | undefined {
    const { isChosen } = this.names.rule(leaf);
    // `documentId` is generic, except for a document.
    const ownName = normalizeName(leaf.replace('.', ''));
    for (const rank of this.ranks(leaf)) {
      const isOwn = ({ name }: Found) => isChosen || !GENERIC_IDS.has(name) || name === ownName;
      const ids = rank.filter((each) => asId(each.value) !== undefined && isOwn(each));
      if (ids.length > 0) return asId(this.agreed(leaf, ids));
    }
    return undefined;
  }

  /** Returns the id as `id` does. @throws UnknownShape if there is none, or as `value` */
  readId(leaf: FieldLeaf): string {
    const id = this.id(leaf);
    if (id !== undefined) return id;
    throw this.unreadable(leaf, `The response contains no ${leaf.replace('.', '_')}.`);
  }

  /** Returns the error for an object whose field cannot be read. Its fix is the likeliest path to the field. */
  unreadable(leaf: FieldLeaf, message: string): UnknownShape {
    const fix = { leaf, value: proposePath(this.object, leaf, this.contract) ?? '<path>' };
    return new UnknownShape(assumptionOf(leaf), message, describeFields(this.object), fix);
  }

  private get found(): FoundFields {
    this.searched ??= findFields(this.object, this.names);
    return this.searched;
  }

  /** The only key that may hold a field; `several` if there may be more, or if the object is not flat. */
  private onlyKey(leaf: FieldLeaf): OnlyKey {
    if (!this.flatKeys) return SEVERAL;
    const known = this.flatKeys.get(leaf);
    if (known) return known;
    const [key, other] = new Set(this.all(leaf).map(({ path }) => path));
    const only: OnlyKey = other !== undefined ? SEVERAL : key !== undefined ? { kind: 'one', key } : { kind: 'none' };
    this.flatKeys.set(leaf, only);
    return only;
  }

  /** Whether a name is the path of the resource, such as `spaces/s1`: then another key has the name. */
  private isResourcePath(leaf: FieldLeaf, value: unknown): boolean {
    if (!leaf.endsWith('.name') || this.names.rule(leaf).isChosen || typeof value !== 'string') return false;
    return RESOURCE_PATH.test(value);
  }

  private hasLater(leaf: FieldLeaf, index: number): boolean {
    const later = [...this.ranks(leaf)].slice(index + 1);
    return later.flat().some(({ value }) => typeof value === 'string');
  }

  private isSent(key: string): boolean {
    return isScalar(this.object[key]) && this.object[key] !== '';
  }

  private agreed(leaf: FieldLeaf, values: readonly Found[]): unknown {
    const [first, ...others] = values;
    const other = others.find(({ value }) => !isSame(value, first?.value));
    if (first === undefined || other === undefined) return first?.value;
    const fix: ContractFix = { leaf, value: first.path, other: other.path };
    const message = `The response has two different values of ${leaf}: ${first.path} and ${other.path}.`;
    throw new UnknownShape(assumptionOf(leaf), message, describeFields(this.object), fix);
  }

  /** The values for a field by rank. A path that is set for this service is first followed as it is written. */
  private *ranks(leaf: FieldLeaf): Generator<readonly Found[]> {
    const { ranks, isChosen } = this.names.rule(leaf);
    if (isChosen) yield* this.chosen(leaf, ranks);
    for (const rank of ranks) yield this.inRank(rank);
  }

  /** Like `flatMap` over the paths, but without a list for each name that the object does not have. */
  private inRank(rank: FieldRule['ranks'][number]): readonly Found[] {
    const all: Found[] = [];
    for (const path of rank) if (this.found.names.has(path[0] ?? '')) all.push(...this.at(path));
    return all;
  }

  private chosen(leaf: FieldLeaf, ranks: FieldRule['ranks']): readonly (readonly Found[])[] {
    const atTop = ranks.flatMap((rank) => rank.map((path) => this.at(path).filter(isAtTop(path))));
    const asWritten = this.contract
      .field(leaf)
      .flat()
      .map((path) => path.join('.'));
    const exact = atTop.map((found) => found.filter(({ path }) => asWritten.includes(path)));
    return [...exact, ...atTop];
  }

  private at([first = '', ...rest]: readonly string[]): readonly Found[] {
    const starts = this.found.all.filter(({ name }) => name === first);
    return rest.reduce<readonly Found[]>((places, step) => places.flatMap((place) => stepsInto(place, step)), starts);
  }
}

function isAtTop(path: readonly string[]): (found: Found) => boolean {
  return (found) => found.path.split('.').length === path.length;
}

function stepsInto(place: Found, step: string): readonly Found[] {
  const { path, value, depth } = place;
  if (!isJsonObject(value)) return [];
  return Object.keys(value)
    .filter((key) => normalizeName(key) === step)
    .map((key) => ({ name: step, path: `${path}.${key}`, value: value[key], depth }));
}

/** Reads an object of the service as a resource. */
export function fieldsOf(object: JsonObject, resource: Resource, contract: Contract): Fields {
  return new Fields(object, resource, contract);
}

/** Returns the id in an object as `Fields.id` does. */
export function findId(object: JsonObject, contract: Contract, leaf: FieldLeaf): string | undefined {
  return fieldsOf(object, resourceOf(leaf), contract).id(leaf);
}
