import { isJsonObject, type JsonObject } from '../json.ts';

const MAX_DEPTH = 8;
const MAX_KEYS = 200;
const MAX_SAMPLES = 50;
const MAX_CHOICES = 6;
/** A word that may be one of a few choices, such as the author of a message. */
const CHOICE = /^[\w.:-]{1,40}$/;

function typesOf(samples: readonly unknown[]): readonly string[] {
  const types = samples.map((value) => {
    if (value === null) return 'null';
    if (Array.isArray(value)) return 'array';
    return typeof value === 'bigint' ? 'integer' : typeof value;
  });
  return [...new Set(types)];
}

function propertiesOf(objects: readonly JsonObject[], depth: number): JsonObject {
  const keys = [...new Set(objects.flatMap((object) => Object.keys(object).slice(0, MAX_KEYS)))].slice(0, MAX_KEYS);
  return Object.fromEntries(
    keys.map((key) => {
      const values = objects.flatMap((object) => (Object.hasOwn(object, key) ? [object[key]] : []));
      return [key, schemaOf(values, depth + 1)];
    }),
  );
}

/** Returns a JSON schema for the samples, with the keywords of OpenAPI documents. */
export function schemaOf(samples: readonly unknown[], depth = 0): JsonObject {
  const types = typesOf(samples);
  const objects = samples.filter(isJsonObject).slice(0, MAX_SAMPLES);
  const items = samples.filter(Array.isArray).flatMap((list) => list.slice(0, MAX_SAMPLES));
  const texts = [...new Set(samples.filter((value) => typeof value === 'string'))];
  const isChoice = texts.length > 0 && texts.length <= MAX_CHOICES && texts.every((text) => CHOICE.test(text));
  return {
    type: types,
    ...(objects.length > 0 && depth < MAX_DEPTH && { properties: propertiesOf(objects, depth) }),
    ...(items.length > 0 && depth < MAX_DEPTH && { items: schemaOf(items.slice(0, MAX_SAMPLES), depth + 1) }),
    ...(isChoice && { enum: texts }),
  };
}
