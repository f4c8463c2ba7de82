import { type Shape, shapeOf } from './schema.ts';

/** Limits for schemas that contain themselves, and for hostile ones. */
const MAX_DEPTH = 8;
const MAX_VALUES = 2_000;

/** What a response has only if something failed. */
const FAILURE = /^(?:is_?|has_?)?(?:errors?|faults?)$/i;

/** What a path of the contract cannot have in a name. */
const INEXPRESSIBLE = /[.[\]:,|\s\p{Cc}]/u;

/** A value to make up, and where it goes. */
interface Task {
  readonly name: string;
  readonly schemas: readonly unknown[];
  readonly depth: number;
  readonly put: (value: unknown) => void;
}

/**
 * Makes up a value that a schema describes, with every property. Equal names have equal values, and different names
 * different ones: `id` and `uuid` may be two things.
 * @returns undefined if the schema says nothing
 */
export function exampleOf(schema: unknown): unknown {
  const numbers = new Map<string, number>();
  const root: { value?: unknown } = {};
  const tasks: Task[] = [{ name: '', schemas: [schema], depth: 0, put: (value) => Object.assign(root, { value }) }];
  // Breadth first: what is deep matters least.
  for (const { name, schemas, depth, put } of tasks) {
    const shape = shapeOf(schemas);
    const add = (task: Omit<Task, 'depth'>) => {
      if (depth < MAX_DEPTH && tasks.length < MAX_VALUES) tasks.push({ ...task, depth: depth + 1 });
    };
    if (shape.properties.size > 0) {
      const object: Record<string, unknown> = Object.create(null);
      for (const [key, inner] of shape.properties) {
        if (INEXPRESSIBLE.test(key) || FAILURE.test(key)) continue;
        add({ name: key, schemas: inner, put: (value) => Object.assign(object, { [key]: value }) });
      }
      put(object);
    } else if (shape.items.length > 0) {
      const list: unknown[] = [];
      add({ name, schemas: shape.items, put: (value) => list.push(value) });
      put(list);
    } else {
      const number = numbers.get(name) ?? numbers.size + 2;
      numbers.set(name, number);
      put(scalarOf(shape, name, number));
    }
  }
  return root.value;
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
