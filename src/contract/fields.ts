import type { Contract } from './contract.ts';
import { type FieldNames, ownNames, type Resource } from './field-names.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import { type FieldLeaf, isLeafName, type LeafName } from './leaves.ts';
import { type ContractFix, UnknownShape } from './unknown-shape.ts';
import { asId, isSame, isScalar } from './values.ts';

/** A value that was sent under a name of a field. */
interface Found {
  readonly leaf: FieldLeaf;
  readonly rank: number;
  /** The dot path of keys from the top, as the service spells them. */
  readonly path: string;
  readonly value: unknown;
  readonly object: JsonObject;
}

interface Place {
  readonly path: string;
  readonly object: JsonObject;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/**
 * The fields of a resource in one object, which is flattened once: what is under an accepted name, at the top or in an object
 * that holds fields. Refuses two names of one rank that disagree, and a missing field while a suspicious name is there.
 */
export class Fields {
  private readonly object: JsonObject;
  private readonly names: FieldNames;
  private readonly contract: Contract;
  /** The object itself, and those in it that hold fields. */
  private readonly holders: Place[];
  /** What was sent under the names of fields. What no field is read from is left out: lists have 100,000 items. */
  private readonly found: Found[] = [];

  constructor(object: JsonObject, resource: Resource, contract: Contract) {
    this.object = object;
    this.contract = contract;
    this.names = contract.namesOf(resource);
    const place = { path: '', object };
    this.holders = [place];
    this.flatten(place, '');
  }

  /**
   * Collects what is under accepted names in a place. All paths are normalized.
   * @param fromTop its path from the top
   * @param fromHolder its path from the object around it that holds fields; undefined outside of such objects
   */
  private flatten({ path, object }: Place, fromTop: string, fromHolder?: string): void {
    const { names } = this;
    for (const key of Object.keys(object)) {
      const [name, value] = [names.normalize(key), object[key]];
      const innerTop = join(fromTop, name);
      const innerHeld = fromHolder === undefined ? undefined : join(fromHolder, name);
      for (const { leaf, rank } of names.at(innerTop, innerHeld))
        this.found.push({ leaf, rank, path: join(path, key), value, object });
      if (!isJsonObject(value)) continue;
      const inner = { path: join(path, key), object: value };
      if (names.holders.has(innerTop)) {
        this.holders.push(inner);
        this.flatten(inner, innerTop, '');
      } else if (names.parents.has(innerTop) || names.parents.has(innerHeld ?? ''))
        this.flatten(inner, innerTop, innerHeld);
    }
  }

  get objects(): readonly JsonObject[] {
    return this.holders.map(({ object }) => object);
  }

  /** Returns every value that the service sent for a field, in the order of its names, even if they differ. */
  all(leaf: FieldLeaf): readonly Found[] {
    const found = this.found.filter((each) => each.leaf === leaf);
    return found.length > 1 ? found.sort((left, right) => left.rank - right.rank) : found;
  }

  /** Returns the first value that counts. @throws UnknownShape if others of its rank differ */
  private first(leaf: FieldLeaf, counts: (found: Found) => boolean): Found | undefined {
    const [first, ...others] = this.all(leaf).filter(counts);
    const other = others.find(({ rank, value }) => rank === first?.rank && !isSame(value, first.value));
    if (first === undefined || other === undefined) return first;
    const message = `The response has two different values of ${leaf}: ${first.path} and ${other.path}.`;
    throw this.refusal(message, { leaf, value: this.before(leaf, first.path), other: this.before(leaf, other.path) });
  }

  /** The first value that is not null; else null if one was sent, or undefined. @throws UnknownShape as `first` */
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
    if (text !== undefined) return text;
    this.rejectSuspect(leaf);
    return this.value(leaf) === null ? null : undefined;
  }

  /** Returns the id of the resource, without values that cannot be ids. @throws UnknownShape as `value` */
  id(leaf: FieldLeaf): string | undefined {
    return asId(this.first(leaf, hasId)?.value);
  }

  /** Returns the id under a name that only this resource has, or at a path that the user set. @throws as `value` */
  ownId(leaf: FieldLeaf): string | undefined {
    const isSet = this.contract.leaf(leaf).source === 'override';
    const own = ownNames(this.names.resource);
    const isOwn = ({ path }: Found) => {
      const name = this.names.normalize(path.split('.').at(-1) ?? path);
      return isSet || own.some((each) => name.startsWith(each));
    };
    return asId(this.first(leaf, (found) => hasId(found) && isOwn(found))?.value);
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
    const suspect = this.suspect(leaf);
    if (suspect) throw this.refusal(`The response has no ${leaf}, but ${suspect.path} looks like it.`, suspect.fix);
  }

  /** Returns the error for an object whose field cannot be read. Its fix has the suspicious path, if there is one. */
  unreadable(leaf: FieldLeaf, message: string): UnknownShape {
    return this.refusal(message, this.fixOf(leaf));
  }

  /** Returns the setting that would make a field readable, with `<path>` if nothing looks like it. */
  fixOf(leaf: FieldLeaf): ContractFix {
    return this.suspect(leaf)?.fix ?? { leaf, value: this.after(leaf, '<path>') };
  }

  /** Finds the only text in a field's object, a value with a suspicious name, or an object with the field. */
  suspect(leaf: FieldLeaf): { readonly path: string; readonly fix: ContractFix } | undefined {
    const { names, holders } = this;
    const [text, otherText] = this.all(leaf).flatMap(({ path, value }) => textsIn(path, value));
    if (text !== undefined)
      return otherText === undefined ? { path: text, fix: { leaf, value: this.before(leaf, text) } } : undefined;
    const [path, other] = holders.flatMap((place) => pathsIn(place, leaf, (key) => names.isSuspect(leaf, key)));
    if (path !== undefined)
      return { path, fix: { leaf, value: this.after(leaf, path), other: other && this.after(leaf, other) } };
    for (const [key, object] of Object.entries(this.object)) {
      if (!isJsonObject(object) || !names.mayNest(key)) continue;
      const [nested] = pathsIn({ path: key, object }, leaf, (inner) => names.accepts(leaf, inner));
      if (nested === undefined) continue;
      const at = `${names.resource}.at`;
      if (!isLeafName(at)) return { path: nested, fix: { leaf, value: this.after(leaf, nested) } };
      // The object probably has other fields, too. Those that were read before stay.
      const used = holders.slice(1).map((holder) => holder.path);
      const value = this.contract.isChosen(at) ? this.after(at, key) : [...used, key].join(', ');
      return { path: key, fix: { leaf: at, value } };
    }
    return undefined;
  }

  /** Returns the paths that are set already, before another one: what is read now is not read from there. */
  private after(leaf: LeafName, path: string): string {
    return this.contract.isChosen(leaf) ? `${this.contract.leaf(leaf).value}, ${path}` : path;
  }

  /** Returns a path before those that are set already, whose values cannot be read. */
  private before(leaf: LeafName, path: string): string {
    return this.contract.isChosen(leaf) ? `${path}, ${this.contract.leaf(leaf).value}` : path;
  }

  private refusal(message: string, fix: ContractFix): UnknownShape {
    return new UnknownShape(message, describeFields(this.object), fix);
  }
}

function hasId({ value }: Found): boolean {
  return asId(value) !== undefined;
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
  return Object.entries(object).flatMap(([key, value]) => (matches(key) && isSent(value) ? [join(path, key)] : []));
}
