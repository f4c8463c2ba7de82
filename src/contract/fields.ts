import type { Contract } from './contract.ts';
import { type FieldNames, type FieldNode, normalizeName, ownNames, type Resource } from './field-names.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import { type FieldLeaf, isLeafName } from './leaves.ts';
import { type ContractFix, UnknownShape } from './unknown-shape.ts';
import { asId, isSame, isScalar, plain } from './values.ts';

/** A value under the name of a field. */
interface Found {
  readonly leaf: FieldLeaf;
  readonly rank: number;
  /** The dot path of keys from the top, as the service spells them. */
  readonly path: string;
  readonly value: unknown;
  readonly holder: JsonObject;
}

/** An object, and the names that are looked for in it. */
interface Place {
  readonly path: string;
  readonly object: JsonObject;
  readonly node: FieldNode;
  /** Whether the names on the path are those of the contract, from the top. */
  readonly isWhole: boolean;
  /** Whether it may also have the names that are looked for at the top. */
  readonly isHolder: boolean;
}

type Holder = Pick<Place, 'path' | 'object'>;

function pathOf({ path }: Holder, key: string): string {
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
  private readonly holders: Holder[] = [];
  /** What was sent under the names of fields, the least nested first. */
  private readonly found: Found[] = [];

  constructor(object: JsonObject, resource: Resource, contract: Contract) {
    this.object = object;
    this.contract = contract;
    this.names = contract.namesOf(resource);
    const places: Place[] = [{ path: '', object, node: this.names.root, isWhole: true, isHolder: true }];
    for (const place of places) {
      if (place.isHolder) this.holders.push(place);
      for (const key of Object.keys(place.object)) this.collect(place, key, places);
    }
  }

  /** Collects the fields under a key, and the places below it. Lists are no step of a path, and hold nothing. */
  private collect(place: Place, key: string, places: Place[]): void {
    const { object, node, isWhole, isHolder } = place;
    const { root } = this.names;
    const name = this.names.normalize(key);
    const visit = (next: FieldNode, isPathWhole: boolean): void => {
      const [path, value] = [pathOf(place, key), plain(object[key])];
      for (const { leaf, rank, isChosen } of next.fields)
        if (isPathWhole || !isChosen) this.found.push({ leaf, rank, path, value, holder: object });
      const isInnerHolder = isPathWhole && next.isHolder && !Array.isArray(value);
      if (next.inner.size === 0 && !isInnerHolder) return;
      for (const inner of [value].flat())
        if (isJsonObject(inner))
          places.push({ path, object: inner, node: next, isWhole: isPathWhole, isHolder: isInnerHolder });
    };
    const own = node.inner.get(name);
    if (own) visit(own, isWhole);
    const shared = isHolder && node !== root ? root.inner.get(name) : undefined;
    if (shared) visit(shared, false);
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
    const accepted = (key: string) => names.accepts(leaf, key);
    const suspected = (key: string) => names.isSuspect(leaf, key);
    const [held, other] = holders.flatMap((holder) => pathsIn(holder, leaf, suspected));
    if (held !== undefined) return { leaf, value: held, ...(other !== undefined && { other }) };
    const nested = Object.entries(this.object).flatMap(([path, object]) =>
      isJsonObject(object) && names.mayNest(path) ? [{ path, object }] : [],
    );
    const holder = nested.find((each) => pathsIn(each, leaf, accepted).length > 0);
    const at = `${names.resource}.at`;
    // It probably has other fields, too. The objects that were read before stay.
    if (holder && isLeafName(at)) {
      return { leaf: at, value: [...holders.slice(1), holder].map(({ path }) => path).join(', ') };
    }
    const [inner] = nested.flatMap((each) => pathsIn(each, leaf, (key) => accepted(key) || suspected(key)));
    return inner === undefined ? undefined : { leaf, value: inner };
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

/** Returns the paths of the texts in the value of a field. */
function textsIn(path: string, value: unknown): readonly string[] {
  return Object.entries(isJsonObject(value) ? value : {})
    .filter(([key, inner]) => isScalar(inner) && !/^(?:type|kind|format|version|id)$/i.test(key))
    .map(([key]) => `${path}.${key}`);
}

/** Returns the paths of what may be a field, of the keys that match. A text may be a list of parts. */
function pathsIn(holder: Holder, leaf: FieldLeaf, matches: (key: string) => boolean): readonly string[] {
  const isSent = (value: unknown) =>
    (isScalar(value) && value !== '') || (leaf === 'message.text' && Array.isArray(value) && value.length > 0);
  return Object.entries(holder.object).flatMap(([key, value]) =>
    matches(key) && isSent(plain(value)) ? [pathOf(holder, key)] : [],
  );
}

export function fieldsOf(object: JsonObject, resource: Resource, contract: Contract): Fields {
  return new Fields(object, resource, contract);
}
