import type { Contract } from './contract.ts';
import { type FieldNames, normalizeName, ownNames, type Resource } from './field-names.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import { type FieldLeaf, isLeafName } from './leaves.ts';
import { type ContractFix, UnknownShape } from './unknown-shape.ts';
import { asId, isSame, isScalar, plain } from './values.ts';

interface Found {
  readonly leaf: FieldLeaf;
  readonly rank: number;
  /** The dot path of keys from the top, as the service spells them. */
  readonly path: string;
  readonly value: unknown;
  readonly holder: JsonObject;
}

/** An object, by its path as the service spells it. */
interface Place {
  readonly path: string;
  readonly object: JsonObject;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/**
 * Reads the fields of a resource in one object: what is under an accepted name, at the top or in an object that holds
 * fields. Refuses two names that disagree, and a missing field while a suspicious name is there.
 */
export class Fields {
  private readonly object: JsonObject;
  private readonly names: FieldNames;
  private readonly contract: Contract;
  /** The object itself, and those in it that hold fields. */
  private readonly holders: readonly Place[];
  /** What was sent under the names of fields, the least nested first. */
  private readonly found: Found[] = [];

  constructor(object: JsonObject, resource: Resource, contract: Contract) {
    this.object = object;
    this.contract = contract;
    this.names = contract.namesOf(resource);
    this.holders = this.collect();
  }

  /** Collects the values of all fields. @returns the objects that hold fields */
  private collect(): readonly Place[] {
    const { names, object, found } = this;
    // A place has a name from the top and, in a holder, also one from there.
    const places: (Place & { readonly top: string; readonly held?: string | undefined })[] = [
      { path: '', object, top: '' },
    ];
    for (const place of places) {
      for (const key of Object.keys(place.object)) {
        const [path, name, value] = [join(place.path, key), names.normalize(key), plain(place.object[key])];
        const top = join(place.top, name);
        const held = place.held === undefined ? undefined : join(place.held, name);
        for (const { leaf, rank } of names.at(top, held)) found.push({ leaf, rank, path, value, holder: place.object });
        if (!isJsonObject(value)) continue;
        if (names.holders.has(top)) places.push({ path, object: value, top, held: '' });
        else if (names.parents.has(top) || names.parents.has(held ?? ''))
          places.push({ path, object: value, top, held });
      }
    }
    return places.filter(({ top, held }) => top === '' || held === '');
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

  /** Returns a field as `text` does, or null if the service sent only null. @throws also as `rejectSuspect` */
  shownText(leaf: FieldLeaf): string | null | undefined {
    const text = this.text(leaf);
    if (text === undefined) this.rejectSuspect(leaf);
    return text ?? (this.value(leaf) === null ? null : undefined);
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
    if (id === undefined) throw this.unreadable(leaf, `The response contains no ${leaf.replace('.', '_')}.`);
    return id;
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
   * Returns the setting that would make a field readable: the path to the only text in its object (`name: {en: "Acme"}`),
   * or to a value with a suspicious name, or the object one level below that has the field.
   */
  suspect(leaf: FieldLeaf): ContractFix | undefined {
    const { names, holders } = this;
    const [text, otherText] = this.all(leaf).flatMap(({ path, value }) => textsIn(path, value));
    if (text !== undefined) return otherText === undefined ? { leaf, value: text } : undefined;
    const accepted = (key: string) => names.at(normalizeName(key)).some((field) => field.leaf === leaf);
    const suspected = (key: string) => names.isSuspect(leaf, key);
    const [held, other] = holders.flatMap((holder) => pathsIn(holder, leaf, suspected));
    if (held !== undefined) return { leaf, value: held, other };
    const [nested] = Object.entries(this.object).flatMap(([path, object]) => {
      const paths = isJsonObject(object) && names.mayNest(path) ? pathsIn({ path, object }, leaf, accepted) : [];
      return paths.map((value) => ({ path, value }));
    });
    if (nested === undefined) return undefined;
    const at = `${names.resource}.at`;
    if (!isLeafName(at)) return { leaf, value: nested.value };
    // The object probably has other fields, too. Those that were read before stay.
    return { leaf: at, value: [...holders.slice(1), nested].map(({ path }) => path).join(', ') };
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

/** Returns the paths of what may be a field, of the keys that match. A text may be a list of parts. */
function pathsIn({ path, object }: Place, leaf: FieldLeaf, matches: (key: string) => boolean): readonly string[] {
  const isSent = (value: unknown) =>
    (isScalar(value) && value !== '') || (leaf === 'message.text' && Array.isArray(value) && value.length > 0);
  return Object.entries(object).flatMap(([key, value]) =>
    matches(key) && isSent(plain(value)) ? [join(path, key)] : [],
  );
}
