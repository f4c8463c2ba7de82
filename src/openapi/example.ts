import { reportsError } from '../contract/unknown-shape.ts';
import { type Shape, shapeOf } from './schema.ts';

const MAX_VALUES = 2_000;

/** What a path of the contract cannot have in a name. */
const INEXPRESSIBLE = /[.[\]:,|\s\p{Cc}]/u;

/** Makes up a value of a schema, without errors. Equal names have equal values: `id` and `uuid` may be two things. */
export function exampleOf(schema: unknown): unknown {
  const numbers = new Map<string, number>();
  let count = 0;
  /** @param around the schemas that contain these: one that contains itself ends there */
  const make = (name: string, schemas: readonly unknown[], around: readonly unknown[]): unknown => {
    count += 1;
    if (count > MAX_VALUES || schemas.some((each) => around.includes(each))) return undefined;
    const [shape, path] = [shapeOf(schemas), [...around, ...schemas]];
    if (shape.properties.size > 0) {
      const names = [...shape.properties].filter(([key]) => !INEXPRESSIBLE.test(key));
      const values = names.map(([key, inner]) => [key, make(key, inner, path)] as const);
      return Object.fromEntries(values.filter((entry) => !reportsError(Object.fromEntries([entry]))));
    }
    if (shape.items.length > 0) return [make(name, shape.items, path)];
    const number = numbers.get(name) ?? numbers.size + 2;
    numbers.set(name, number);
    return scalarOf(shape, name, number);
  };
  return make('', [schema], []);
}

function scalarOf({ types, formats, choices }: Shape, name: string, number: number): unknown {
  if (choices.length > 0) return choices[0];
  const isUrl = /^(?:href|ur[il]|link)$/i.test(name) || formats.some((format) => /^ur[il]/.test(format));
  if (types.has('string')) return isUrl ? `https://example.com/${name}` : name;
  if (types.has('integer') || types.has('number')) return number;
  if (types.has('boolean')) return true;
  if (types.has('array')) return [];
  return types.has('object') ? {} : types.has('null') ? null : undefined;
}
