import type { Contract } from './contract.ts';
import {
  type Candidate,
  type FieldNames,
  GENERIC_IDS,
  normalizeName,
  type Resource,
  resourceOf,
} from './field-names.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import { type FieldLeaf, isLeafName } from './leaves.ts';
import { type ContractFix, UnknownShape } from './unknown-shape.ts';
import { asId, isSame, isScalar, plain } from './values.ts';

/** A value under an accepted name of a field. */
interface Found {
  /** Normalized. */
  readonly name: string;
  /** The dot path of keys from the top, as the service spells them. */
  readonly path: string;
  readonly value: unknown;
  /** The object that has the value. */
  readonly holder: JsonObject;
}

/** An object that holds fields, and its path, which ends with a dot; empty for the item itself. */
interface Holder {
  readonly prefix: string;
  readonly object: JsonObject;
  readonly keys: readonly string[];
}

/** How deep an object is searched for suspicious names. */
const MAX_DEPTH = 3;

/**
 * Reads the fields of a resource in one object of the service: what is under an accepted name, at the top or in an object
 * that holds fields of the resource. Two names that disagree are refused, and so is a missing field while a suspicious name
 * is there.
 */
export class Fields {
  private readonly object: JsonObject;
  private readonly names: FieldNames;
  private readonly contract: Contract;
  /** The object, and those nested in it that hold fields, each with its path. */
  private readonly holders: readonly Holder[];

  constructor(object: JsonObject, resource: Resource, contract: Contract) {
    this.object = object;
    this.contract = contract;
    this.names = contract.namesOf(resource);
    // Lists may have 100,000 objects, most without nested ones.
    const keys = Object.keys(object);
    const places = keys.some((key) => isJsonObject(object[key])) ? this.names.places : [];
    this.holders = [{ prefix: '', object, keys }, ...places.flatMap((path) => this.nested(path))];
  }

  /** The objects that hold the fields: the object itself, and those nested in it. */
  get places(): readonly JsonObject[] {
    return this.holders.map(({ object }) => object);
  }

  /**
   * Returns the value of a field: the first that is not null.
   * @returns null if the service sent only null; undefined if it sent nothing
   * @throws UnknownShape if accepted names of one rank have different values
   */
  value(leaf: FieldLeaf): unknown {
    const only = this.onlyCandidate(leaf);
    if (only !== undefined) return plain(this.object[only.key]);
    let isNull = false;
    for (const rank of this.ranks(leaf)) {
      const values = rank.filter(({ value }) => value !== null && value !== undefined);
      if (values.length > 0) return this.agreed(leaf, values);
      isNull ||= rank.some(({ value }) => value === null);
    }
    return isNull ? null : undefined;
  }

  /** Returns every value that the service sent for a field, in the order of its names, even if they differ. */
  all(leaf: FieldLeaf): readonly Omit<Found, 'name'>[] {
    return this.ranks(leaf).flat();
  }

  /**
   * Returns a field that is a text, or a number as text; undefined if the service sent nothing or null.
   * @throws UnknownShape if it is anything else, or as `value`
   */
  text(leaf: FieldLeaf): string | undefined {
    const value = this.value(leaf);
    if (value === null || value === undefined) return undefined;
    if (isScalar(value)) return String(value);
    throw this.unreadableWithin(leaf, `The ${leaf} of the response is not a text.`);
  }

  /** Returns the error for a field whose text is in an object of its own: `name: {en: "Acme"}`. */
  unreadableWithin(leaf: FieldLeaf, message: string): UnknownShape {
    const texts = this.all(leaf).flatMap(({ path, value }) =>
      isJsonObject(value)
        ? Object.keys(value)
            .filter((key) => isScalar(value[key]) && !/^(?:type|kind|format|version|id)$/i.test(key))
            .map((key) => `${path}.${key}`)
        : [],
    );
    const fix = { leaf, value: texts.length === 1 && texts[0] ? texts[0] : '<path>' };
    return new UnknownShape(message, describeFields(this.object), fix);
  }

  /**
   * Returns a field as `text` does.
   * @throws UnknownShape as `text`, or if the field is missing while a suspicious name is there
   */
  shownText(leaf: FieldLeaf): string | undefined {
    const text = this.text(leaf);
    if (text === undefined) this.rejectSuspect(leaf);
    return text;
  }

  /** @throws UnknownShape if the service sent nothing for a field while a suspicious name is there */
  rejectSuspect(leaf: FieldLeaf): void {
    if (this.names.rule(leaf).isChosen || this.value(leaf) !== undefined) return;
    const fix = this.suspect(leaf);
    if (fix === undefined) return;
    const message = `The response has no ${leaf}, but ${fix.value} looks like it.`;
    throw new UnknownShape(message, describeFields(this.object), fix);
  }

  /**
   * Returns the id of the resource. A specific name wins over a generic one; values that cannot be ids are skipped.
   * @throws UnknownShape as `value`
   */
  id(leaf: FieldLeaf): string | undefined {
    const only = this.onlyCandidate(leaf);
    if (only !== undefined) return asId(plain(this.object[only.key]));
    for (const rank of this.ranks(leaf)) {
      const ids = rank.filter(({ value }) => asId(value) !== undefined);
      if (ids.length > 0) return asId(this.agreed(leaf, ids));
    }
    return undefined;
  }

  /** Returns the id under a name that only this resource has, or at a path that the user set. @throws as `value` */
  ownId(leaf: FieldLeaf): string | undefined {
    const isSet = this.contract.leaf(leaf).source === 'override';
    // `documentId` is generic, except for a document.
    const ownName = normalizeName(leaf.replace('.', ''));
    for (const rank of this.ranks(leaf)) {
      const isOwn = ({ name }: Found) => isSet || !GENERIC_IDS.has(name) || name === ownName;
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

  /** Returns the error for an object whose field cannot be read. Its fix has the suspicious path, if there is one. */
  unreadable(leaf: FieldLeaf, message: string): UnknownShape {
    const fix = this.suspect(leaf) ?? { leaf, value: '<path>' };
    return new UnknownShape(message, describeFields(this.object), fix);
  }

  /**
   * Returns the setting that would make a missing field readable: the object that holds the fields, or the path to a value
   * with a suspicious name, the least nested one, and the next one beside it. Undefined if nothing looks like the field.
   */
  suspect(leaf: FieldLeaf): ContractFix | undefined {
    let level = [{ prefix: '', object: this.object }];
    for (let depth = 1; depth <= MAX_DEPTH; depth += 1) {
      const entries = level.flatMap(({ prefix, object }) =>
        Object.entries(object).map(([key, value]) => ({ key, path: prefix + key, value: plain(value) })),
      );
      const isSuspect = ({ key, value }: (typeof entries)[number]) =>
        isSent(value, leaf) && this.names.isSuspect(leaf, key);
      const [found, other] = entries.filter(isSuspect);
      if (found) return { leaf, value: found.path, ...(other && { other: other.path }) };
      const nested = entries.flatMap(({ key, path, value }) =>
        isJsonObject(value) && this.names.mayNest(key) ? [{ path, object: value }] : [],
      );
      const holder = nested.find(({ object }) => this.mayHold(leaf, object));
      if (holder) return this.fixFor(leaf, holder);
      level = nested.map(({ path, object }) => ({ prefix: `${path}.`, object }));
    }
    return undefined;
  }

  /** Whether a nested object probably has the field. A name alone may be that of anything, such as a plan. */
  private mayHold(leaf: FieldLeaf, object: JsonObject): boolean {
    const accepted = this.names.acceptedIn(object);
    if (!accepted.has(leaf)) return false;
    return !leaf.endsWith('.name') || accepted.size > 1 || this.names.acceptedIn(this.object).size === 0;
  }

  /** The object that holds a field holds others, too, so that one setting may be enough. */
  private fixFor(
    leaf: FieldLeaf,
    { path, object }: { readonly path: string; readonly object: JsonObject },
  ): ContractFix {
    const place = `${this.names.resource}.at`;
    // Those that hold fields already go on doing so.
    const known = this.holders.map(({ prefix }) => prefix.slice(0, -1)).filter((each) => each !== '');
    if (isLeafName(place)) return { leaf: place, value: [...known, path].join(', ') };
    const key = Object.keys(object).find((each) => this.names.acceptedIn({ [each]: object[each] }).has(leaf));
    return { leaf, value: `${path}.${key}` };
  }

  /** The one key that has a field, as in most items of a list: it needs no search. Undefined if there may be others. */
  private onlyCandidate(leaf: FieldLeaf): Candidate | undefined {
    const [holder, ...nested] = this.holders;
    if (holder === undefined || nested.length > 0 || this.names.rule(leaf).isChosen) return undefined;
    const [only, ...others] = this.names.candidates(leaf, holder.keys);
    return others.length === 0 && only?.rest.length === 0 ? only : undefined;
  }

  private agreed(leaf: FieldLeaf, values: readonly Found[]): unknown {
    const [first, ...others] = values;
    const other = others.find(({ value }) => !isSame(value, first?.value));
    if (first === undefined || other === undefined) return first?.value;
    const fix: ContractFix = { leaf, value: first.path, other: other.path };
    const message = `The response has two different values of ${leaf}: ${first.path} and ${other.path}.`;
    throw new UnknownShape(message, describeFields(this.object), fix);
  }

  /** The values for a field by rank. A path that is set for this service is followed from the top, first as it is written. */
  private ranks(leaf: FieldLeaf): readonly (readonly Found[])[] {
    if (this.names.rule(leaf).isChosen) {
      return this.contract.field(leaf).map((rank) => {
        const found = rank.map((path) => this.atTop(path));
        return found.flatMap(({ exact, spelled }) => exact ?? spelled);
      });
    }
    const places: { readonly holder: Holder; readonly candidate: Candidate }[] = [];
    for (const holder of this.holders) {
      for (const candidate of this.names.candidates(leaf, holder.keys)) places.push({ holder, candidate });
    }
    if (this.holders.length > 1) places.sort((one, other) => one.candidate.rank - other.candidate.rank);
    const ranks: Found[][] = [];
    let last: number | undefined;
    for (const { holder, candidate } of places) {
      const found = this.inHolder(holder, candidate);
      if (candidate.rank === last) ranks.at(-1)?.push(...found);
      else ranks.push(found);
      last = candidate.rank;
    }
    return ranks;
  }

  /** The values of a field in one holder under one candidate. */
  private inHolder({ prefix, object }: Holder, { key, name, rest }: Candidate): Found[] {
    const start: Found = { name, path: prefix + key, value: plain(object[key]), holder: object };
    return rest.reduce((places, step) => places.flatMap((place) => this.step(place, step)), [start]);
  }

  private atTop(path: readonly string[]): {
    readonly exact: readonly Found[] | undefined;
    readonly spelled: readonly Found[];
  } {
    const spelled = this.walk(path.map((step) => this.names.normalize(step)));
    const exact = spelled.filter((found) => found.path === path.join('.'));
    return { exact: exact.length > 0 ? exact : undefined, spelled };
  }

  /** Returns what is at a normalized path from the top. */
  private walk(path: readonly string[]): readonly Found[] {
    const top: Found = { name: '', path: '', value: this.object, holder: this.object };
    return path.reduce<readonly Found[]>((places, step) => places.flatMap((place) => this.step(place, step)), [top]);
  }

  /** Lists on a path are no step of it. */
  private step(from: Found, name: string): readonly Found[] {
    const { path, value } = from;
    if (Array.isArray(value)) return value.flatMap((item: unknown) => this.step({ ...from, value: item }, name));
    if (!isJsonObject(value)) return [];
    return Object.keys(value)
      .filter((key) => this.names.normalize(key) === name)
      .map((key) => ({ name, path: path === '' ? key : `${path}.${key}`, value: plain(value[key]), holder: value }));
  }

  private nested(path: readonly string[]): readonly Holder[] {
    return this.walk(path).flatMap(({ path: at, value }) =>
      isJsonObject(value) ? [{ prefix: `${at}.`, object: value, keys: Object.keys(value) }] : [],
    );
  }
}

/** Whether a value may be a field. A text may be a list of parts. */
function isSent(value: unknown, leaf: FieldLeaf): boolean {
  return (isScalar(value) && value !== '') || (leaf === 'message.text' && Array.isArray(value) && value.length > 0);
}

/** Reads an object of the service as a resource. */
export function fieldsOf(object: JsonObject, resource: Resource, contract: Contract): Fields {
  return new Fields(object, resource, contract);
}

/** Returns the id in an object as `Fields.id` does. */
export function findId(object: JsonObject, contract: Contract, leaf: FieldLeaf): string | undefined {
  return fieldsOf(object, resourceOf(leaf), contract).id(leaf);
}
