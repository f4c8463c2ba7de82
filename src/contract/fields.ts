import type { Contract } from './contract.ts';
import { type FieldNames, normalizeName, ownNames, type Resource } from './field-names.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import { type FieldLeaf, isLeafName } from './leaves.ts';
import { type ContractFix, UnknownShape } from './unknown-shape.ts';
import { asId, isSame, isScalar, plain } from './values.ts';

interface Found {
  readonly leaf: FieldLeaf;
  /** An earlier rank wins; the values of one rank must agree. */
  readonly rank: number;
  /** The dot path of keys from the top, as the service spells them. */
  readonly path: string;
  readonly value: unknown;
  readonly holder: JsonObject;
}

type Place = Omit<Found, 'leaf' | 'rank'>;

/** An object that holds fields. */
interface Holder {
  readonly path: string;
  readonly object: JsonObject;
}

function placeOf({ path, object }: Holder, key: string): Place {
  return { path: path === '' ? key : `${path}.${key}`, value: plain(object[key]), holder: object };
}

/** Returns what is at a path of normalized names below a place. Lists on it are no step of it. */
function walk(place: Place, [first, ...rest]: readonly string[]): readonly Place[] {
  const { path, value } = place;
  if (first === undefined) return [place];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => walk({ ...place, value: item }, [first, ...rest]));
  if (!isJsonObject(value)) return [];
  const keys = Object.keys(value).filter((key) => normalizeName(key) === first);
  return keys.flatMap((key) => walk(placeOf({ path, object: value }, key), rest));
}

/**
 * Reads the fields of a resource in one object of the service: what is under an accepted name, at the top or in an object
 * that holds fields of the resource. Two names that disagree are refused, and so is a missing field while a suspicious name
 * is there.
 */
export class Fields {
  private readonly object: JsonObject;
  private readonly names: FieldNames;
  private readonly contract: Contract;
  private readonly holders: readonly Holder[];
  /** What was sent under the names of fields. */
  private readonly found: Found[] = [];

  constructor(object: JsonObject, resource: Resource, contract: Contract) {
    this.object = object;
    this.contract = contract;
    this.names = contract.namesOf(resource);
    const top: Holder = { path: '', object };
    const nested = Object.keys(object).flatMap((key) =>
      this.names.placesBelow(key).flatMap((rest) => walk(placeOf(top, key), rest)),
    );
    this.holders = [
      top,
      ...nested.flatMap(({ path, value }) => (isJsonObject(value) ? [{ path, object: value }] : [])),
    ];
    for (const holder of this.holders) this.collect(holder);
  }

  /** Collects the fields in an object. A path that is set for this service starts at the top. */
  private collect(holder: Holder): void {
    for (const key of Object.keys(holder.object)) {
      for (const { leaf, rank, rest } of this.names.fieldsBelow(key)) {
        if (holder.path !== '' && this.contract.isChosen(leaf)) continue;
        for (const place of walk(placeOf(holder, key), rest)) this.found.push({ leaf, rank, ...place });
      }
    }
  }

  /** The objects that hold the fields: the object itself, and those nested in it. */
  get objects(): readonly JsonObject[] {
    return this.holders.map(({ object }) => object);
  }

  /** Returns every value that the service sent for a field, in the order of its names, even if they differ. */
  all(leaf: FieldLeaf): readonly Found[] {
    const found = this.found.filter((each) => each.leaf === leaf);
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

  /** Returns a scalar as text; undefined for nothing and null. @throws UnknownShape for anything else, or as `value` */
  text(leaf: FieldLeaf): string | undefined {
    const value = this.value(leaf);
    if (value === null || value === undefined) return undefined;
    if (isScalar(value)) return String(value);
    throw this.unreadable(leaf, `The ${leaf} of the response is not a text.`);
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

  /** Returns the id of the resource, without values that cannot be ids. @throws UnknownShape as `value` */
  id(leaf: FieldLeaf): string | undefined {
    return asId(this.first(leaf, ({ value }) => asId(value) !== undefined)?.value);
  }

  /** Returns the id under a name that only this resource has, or at a path that the user set. @throws as `value` */
  ownId(leaf: FieldLeaf): string | undefined {
    const isSet = this.contract.leaf(leaf).source === 'override';
    const own = ownNames(this.names.resource);
    const isOwn = ({ path }: Found) => {
      const name = normalizeName(path.split('.').at(-1) ?? path);
      return isSet || own.some((each) => name.startsWith(each));
    };
    return asId(this.first(leaf, (found) => asId(found.value) !== undefined && isOwn(found))?.value);
  }

  /** Returns the id as `id` does. @throws UnknownShape if there is none, or as `value` */
  readId(leaf: FieldLeaf): string {
    const id = this.id(leaf);
    if (id !== undefined) return id;
    const set = this.contract.isChosen(leaf) ? this.contract.leaf(leaf).value : undefined;
    const missing = set ? `${set}, where the contract has the ${leaf}` : leaf.replace('.', '_');
    throw this.unreadable(leaf, `The response contains no ${missing}.`);
  }

  /** @throws UnknownShape if the service sent nothing for a field while a suspicious name is there */
  rejectSuspect(leaf: FieldLeaf): void {
    if (this.contract.isChosen(leaf) || this.value(leaf) !== undefined) return;
    const fix = this.suspect(leaf);
    if (fix) throw this.refusal(`The response has no ${leaf}, but ${fix.value} looks like it.`, fix);
  }

  /** Returns the error for an object whose field cannot be read. Its fix has the suspicious path, if there is one. */
  unreadable(leaf: FieldLeaf, message: string): UnknownShape {
    return this.refusal(message, this.suspect(leaf) ?? { leaf, value: '<path>' });
  }

  /**
   * Returns the setting that would make a field readable: the path to the only text in its object (`name: {en: "Acme"}`), the
   * path to a value with a suspicious name, or the object one level below that has the field.
   */
  suspect(leaf: FieldLeaf): ContractFix | undefined {
    const [text, otherText] = this.all(leaf).flatMap(({ path, value }) => textsIn(path, value));
    if (text !== undefined) return otherText === undefined ? { leaf, value: text } : undefined;
    const { names } = this;
    const [held, other] = this.holders.flatMap(({ path, object }) =>
      this.suspectsIn(leaf, object, path === '' ? '' : `${path}.`, (key) => names.isSuspect(leaf, key)),
    );
    if (held !== undefined) return { leaf, value: held, ...(other !== undefined && { other }) };
    const nested = Object.entries(this.object).flatMap(([key, value]) =>
      isJsonObject(value) && names.mayNest(leaf, key, value) ? [{ key, value }] : [],
    );
    const isAccepted = (key: string) => names.accepts(leaf, key);
    const holder = nested.find(({ value }) => this.suspectsIn(leaf, value, '', isAccepted).length > 0);
    const at = `${names.resource}.at`;
    // It probably has other fields, too. The objects that were read before stay.
    if (holder && isLeafName(at)) {
      const known = this.holders.slice(1).map(({ path }) => path);
      return { leaf: at, value: [...known, holder.key].join(', ') };
    }
    const isSuspect = (key: string) => isAccepted(key) || names.isSuspect(leaf, key);
    const [inner] = nested.flatMap(({ key, value }) => this.suspectsIn(leaf, value, `${key}.`, isSuspect));
    return inner === undefined ? undefined : { leaf, value: inner };
  }

  private suspectsIn(leaf: FieldLeaf, object: JsonObject, prefix: string, isSuspect: (key: string) => boolean) {
    return Object.entries(object).flatMap(([key, value]) =>
      isSuspect(key) && isSent(plain(value), leaf) ? [prefix + key] : [],
    );
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
}

function textsIn(path: string, value: unknown): readonly string[] {
  return Object.entries(isJsonObject(value) ? value : {})
    .filter(([key, inner]) => isScalar(inner) && !/^(?:type|kind|format|version|id)$/i.test(key))
    .map(([key]) => `${path}.${key}`);
}

/** Whether a value may be a field. A text may be a list of parts. */
function isSent(value: unknown, leaf: FieldLeaf): boolean {
  return (isScalar(value) && value !== '') || (leaf === 'message.text' && Array.isArray(value) && value.length > 0);
}

export function fieldsOf(object: JsonObject, resource: Resource, contract: Contract): Fields {
  return new Fields(object, resource, contract);
}
