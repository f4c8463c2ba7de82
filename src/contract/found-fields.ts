import { type FieldNames, isResourceName, normalizeName } from './field-names.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import {
  GENERIC_IDS,
  isDistinctive,
  isEnvelopeField,
  isSupplement,
  objectBesideLinks,
  pairedParts,
  withoutLabel,
} from './resource-parts.ts';

/** A resource may be nested under `node` or its own name, and its fields under `attributes` there. */
const MAX_NESTING = 2;

/** A value found under the name of a field. */
export interface Found {
  /** The normalized name of the key. */
  readonly name: string;
  /** The dot path of keys from the top, as the service spells them. */
  readonly path: string;
  readonly value: unknown;
  /** How many envelopes surround it. */
  readonly depth: number;
}

/** What an object has under the names of a resource's fields. */
export interface FoundFields {
  readonly all: readonly Found[];
  /** The names in `all`. */
  readonly names: ReadonlySet<string>;
  /** The objects that hold the fields: the object itself, and those nested in it. */
  readonly places: readonly JsonObject[];
}

/** Finds the values that are under the names of a resource's fields, at any place of an object where they may be. */
export function findFields(object: JsonObject, names: FieldNames): FoundFields {
  const search = new Search(object, names);
  return { all: search.found, names: new Set(search.found.map(({ name }) => name)), places: search.places };
}

class Search {
  readonly found: Found[] = [];
  readonly places: JsonObject[] = [];
  private readonly object: JsonObject;
  private readonly names: FieldNames;

  constructor(object: JsonObject, names: FieldNames) {
    this.object = object;
    this.names = names;
    this.collect(object, '', 0, 0);
    this.addSupplements(object);
    const part = this.found.some(({ name }) => isDistinctive(name)) ? undefined : this.findPart();
    if (part !== undefined && isJsonObject(object[part])) {
      // Ids beside the part and in it must agree.
      this.collect(object[part], `${part}.`, 0, 1);
    }
    const inner = objectBesideLinks(object);
    if (inner && this.found.length === 0) this.collect(inner, '', 0, 0);
  }

  /** Adds fields that only a supplement of the object has: `{id, profile: {name}}`. */
  private addSupplements(object: JsonObject): void {
    // Lists may have 100,000 objects, most without nested objects.
    if (!Object.values(object).some(isJsonObject)) return;
    const own = new Set(this.found.map(({ name }) => name));
    for (const [key, part] of Object.entries(object)) {
      if (!isJsonObject(part) || !isSupplement(key)) continue;
      for (const [inner, value] of Object.entries(part)) {
        const name = this.names.nameOf(inner);
        if (name !== undefined && !GENERIC_IDS.has(name) && !own.has(name))
          this.found.push({ name, path: `${key}.${inner}`, value, depth: 0 });
      }
    }
  }

  /** Returns the key of the only nested object with several fields of the resource: `snippet`, `document`, `data`. */
  private findPart(): string | undefined {
    const isBare = Object.keys(this.object).every((key) => isJsonObject(this.object[key]) || isEnvelopeField(key));
    const parts = Object.entries(this.object).filter(([key, value]) => {
      const own = normalizeName(key);
      if (!isJsonObject(value) || (isResourceName(own) && own !== 'document')) return false;
      const names = Object.keys(value).flatMap((each) => this.names.nameOf(each) ?? []);
      const distinctive = names.filter((name) => isDistinctive(name) && this.names.nesting(name) === undefined);
      return distinctive.length > 1 || (distinctive.length === 1 && (isBare || names.includes('id')));
    });
    return parts.length === 1 ? parts[0]?.[0] : undefined;
  }

  private collect(object: JsonObject, path: string, depth: number, nesting: number): void {
    this.places.push(object);
    const parts = nesting < MAX_NESTING ? pairedParts(object) : [];
    for (const key of Object.keys(object)) {
      const value = withoutLabel(key, object[key]);
      const name = this.names.nameOf(key);
      if (name !== undefined) this.found.push({ name, path: path + key, value, depth });
      if (parts.includes(key) && isJsonObject(value)) {
        this.collect(value, `${path + key}.`, depth, nesting + 1);
        continue;
      }
      if (name === undefined) continue;
      const kind = isJsonObject(value) && nesting < MAX_NESTING ? this.names.nesting(name) : undefined;
      if (kind === undefined || !isJsonObject(value)) continue;
      this.collect(value, `${path + key}.`, kind === 'envelope' ? depth + 1 : depth, nesting + 1);
    }
  }
}
