import type { Contract } from './contract.ts';
import { type FieldNames, GENERIC_IDS, normalizeName, type Resource } from './field-names.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import { type FieldLeaf, isLeafName } from './leaves.ts';
import { type ContractFix, UnknownShape } from './unknown-shape.ts';
import { asId, isSame, isScalar, plain } from './values.ts';

/** A value of a field. */
interface Found {
  /** An earlier rank wins; the values of one rank must agree. */
  readonly rank: number;
  /** Normalized. */
  readonly name: string;
  /** The dot path of keys from the top, as the service spells them. */
  readonly path: string;
  readonly value: unknown;
  /** The object that has the value. */
  readonly holder: JsonObject;
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
  /** The object, and those nested in it that hold fields. */
  private readonly holders: readonly Pick<Found, 'path' | 'holder'>[];
  /** The values under accepted names. */
  private readonly accepted = new Map<FieldLeaf, Found[]>();

  constructor(object: JsonObject, resource: Resource, contract: Contract) {
    this.object = object;
    this.contract = contract;
    this.names = contract.namesOf(resource);
    // Lists may have 100,000 objects, most without nested ones.
    const places = Object.values(object).some(isJsonObject) ? this.names.places : [];
    const nested = places
      .flatMap((path) => this.walk(path))
      .flatMap(({ path, value }) => (isJsonObject(value) ? [{ path, holder: value }] : []));
    this.holders = [{ path: '', holder: object }, ...nested];
    for (const { path, holder } of this.holders) this.addFieldsIn(path, holder);
  }

  private addFieldsIn(path: string, holder: JsonObject): void {
    for (const key of Object.keys(holder)) {
      const name = this.names.normalize(key);
      for (const { leaf, rank, rest } of this.names.acceptedAt(name)) {
        const start = { rank, name, path: path === '' ? key : `${path}.${key}`, value: plain(holder[key]), holder };
        const known = this.accepted.get(leaf);
        const found = rest.length === 0 ? [start] : this.walk(rest, start);
        if (known) known.push(...found);
        else this.accepted.set(leaf, [...found]);
      }
    }
  }

  /** The objects that hold the fields: the object itself, and those nested in it. */
  get objects(): readonly JsonObject[] {
    return this.holders.map(({ holder }) => holder);
  }

  /** Returns every value that the service sent for a field, in the order of its names, even if they differ. */
  all(leaf: FieldLeaf): readonly Found[] {
    const chosen = this.names.chosen.get(leaf);
    if (chosen)
      return chosen.flatMap((paths, rank) => paths.flatMap((path) => this.walk(path, { ...this.top(), rank })));
    const found = this.accepted.get(leaf) ?? [];
    return found.length > 1 ? found.toSorted((left, right) => left.rank - right.rank) : found;
  }

  /**
   * Returns the value of a field: the first that is not null.
   * @returns null if the service sent only null; undefined if it sent nothing
   * @throws UnknownShape if accepted names of one rank have different values
   */
  value(leaf: FieldLeaf): unknown {
    const found = this.first(leaf, ({ value }) => value !== null && value !== undefined);
    if (found) return found.value;
    return this.all(leaf).some(({ value }) => value === null) ? null : undefined;
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

  /** Returns a field as `text` does. @throws UnknownShape as `text`, and as `rejectSuspect` */
  shownText(leaf: FieldLeaf): string | undefined {
    const text = this.text(leaf);
    if (text === undefined) this.rejectSuspect(leaf);
    return text;
  }

  /** Returns a text that may be null, as `shownText` does. */
  nullableText(leaf: FieldLeaf): string | null | undefined {
    return this.shownText(leaf) ?? (this.value(leaf) === null ? null : undefined);
  }

  /**
   * Returns the id of the resource. A specific name wins over a generic one; values that cannot be ids are skipped.
   * @throws UnknownShape as `value`
   */
  id(leaf: FieldLeaf): string | undefined {
    return asId(this.first(leaf, ({ value }) => asId(value) !== undefined)?.value);
  }

  /** Returns the id under a name that only this resource has, or at a path that the user set. @throws as `value` */
  ownId(leaf: FieldLeaf): string | undefined {
    const isSet = this.contract.leaf(leaf).source === 'override';
    const ownName = normalizeName(leaf.replace('.', ''));
    const isOwn = ({ name }: Found) => isSet || !GENERIC_IDS.has(name) || name === ownName;
    return asId(this.first(leaf, (found) => asId(found.value) !== undefined && isOwn(found))?.value);
  }

  /** Returns the id as `id` does. @throws UnknownShape if there is none, or as `value` */
  readId(leaf: FieldLeaf): string {
    const id = this.id(leaf);
    if (id !== undefined) return id;
    const set = this.names.chosen
      .get(leaf)
      ?.flat()
      .map((path) => path.join('.'));
    const missing = set ? `${set.join(', ')}, where the contract has the ${leaf}` : leaf.replace('.', '_');
    throw this.unreadable(leaf, `The response contains no ${missing}.`);
  }

  /** @throws UnknownShape if the service sent nothing for a field while a suspicious name is there */
  rejectSuspect(leaf: FieldLeaf): void {
    if (this.names.chosen.has(leaf) || this.value(leaf) !== undefined) return;
    const fix = this.suspect(leaf);
    if (fix) throw this.refusal(`The response has no ${leaf}, but ${fix.value} looks like it.`, fix);
  }

  /** Returns the error for an object whose field cannot be read. Its fix has the suspicious path, if there is one. */
  unreadable(leaf: FieldLeaf, message: string): UnknownShape {
    return this.refusal(message, this.suspect(leaf) ?? { leaf, value: '<path>' });
  }

  /** Returns the error for a field whose text is in an object of its own: `name: {en: "Acme"}`. */
  unreadableWithin(leaf: FieldLeaf, message: string): UnknownShape {
    const texts = this.all(leaf).flatMap(({ path, value }) =>
      Object.entries(isJsonObject(value) ? value : {})
        .filter(([key, inner]) => isScalar(inner) && !/^(?:type|kind|format|version|id)$/i.test(key))
        .map(([key]) => `${path}.${key}`),
    );
    const [only, other] = texts;
    return this.refusal(message, { leaf, value: other === undefined ? (only ?? '<path>') : '<path>' });
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
      const [found, other] = entries.filter(({ key, value }) => isSent(value, leaf) && this.names.isSuspect(leaf, key));
      if (found) return { leaf, value: found.path, ...(other && { other: other.path }) };
      const nested = entries.flatMap(({ key, path, value }) =>
        isJsonObject(value) && this.names.mayNest(key) ? [{ path, object: value }] : [],
      );
      const holder = nested.find(({ object }) => this.mayHold(leaf, object));
      if (holder) return this.fixFor(leaf, holder.path, holder.object);
      level = nested.map(({ path, object }) => ({ prefix: `${path}.`, object }));
    }
    return undefined;
  }

  /** Whether a nested object probably has the field. A name alone may be that of anything, such as a plan. */
  private mayHold(leaf: FieldLeaf, object: JsonObject): boolean {
    const accepted = this.names.acceptedIn(object);
    const isAmong = accepted.size > 1 || this.names.acceptedIn(this.object).size === 0;
    return accepted.has(leaf) && (isAmong || !leaf.endsWith('.name'));
  }

  /** The object that holds a field holds others, too, so that one setting may be enough. Those before go on doing so. */
  private fixFor(leaf: FieldLeaf, path: string, object: JsonObject): ContractFix {
    const place = `${this.names.resource}.at`;
    const known = this.holders.map((holder) => holder.path).filter((each) => each !== '');
    if (isLeafName(place)) return { leaf: place, value: [...known, path].join(', ') };
    const key = Object.keys(object).find((each) => this.names.acceptedIn({ [each]: object[each] }).has(leaf));
    return { leaf, value: `${path}.${key}` };
  }

  private refusal(message: string, fix: ContractFix): UnknownShape {
    return new UnknownShape(message, describeFields(this.object), fix);
  }

  /** Returns the first value that counts. @throws UnknownShape if others of its rank differ */
  private first(leaf: FieldLeaf, counts: (found: Found) => boolean): Found | undefined {
    const [first, ...others] = this.all(leaf).filter(counts);
    const other = others.find(({ rank, value }) => rank === first?.rank && !isSame(value, first.value));
    if (first === undefined || other === undefined) return first;
    const message = `The response has two different values of ${leaf}: ${first.path} and ${other.path}.`;
    throw this.refusal(message, { leaf, value: first.path, other: other.path });
  }

  private top(): Found {
    return { rank: 0, name: '', path: '', value: this.object, holder: this.object };
  }

  /** Returns what is at a path. Lists on it are no step of it. A key that is exactly as in the path goes before other spellings. */
  private walk(path: readonly string[], start = this.top()): readonly Found[] {
    return path.reduce<readonly Found[]>((places, step) => places.flatMap((place) => this.step(place, step)), [start]);
  }

  private step(from: Found, step: string): readonly Found[] {
    const { path, value } = from;
    if (Array.isArray(value)) return value.flatMap((item: unknown) => this.step({ ...from, value: item }, step));
    if (!isJsonObject(value)) return [];
    const name = this.names.normalize(step);
    const keys = Object.hasOwn(value, step)
      ? [step]
      : Object.keys(value).filter((key) => this.names.normalize(key) === name);
    return keys.map((key) => {
      return { ...from, name, path: path === '' ? key : `${path}.${key}`, value: plain(value[key]), holder: value };
    });
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
