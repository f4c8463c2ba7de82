import type { OpenApiDocument } from './document.ts';
import { isPrintable, type Shape, shapeOf } from './schema.ts';

/** A value as a schema describes it. */
export interface Example {
  /** Undefined if the schema says nothing. */
  readonly value: unknown;
  /** The values that the schema lists, by dot path; lists are no step of it. */
  readonly choices: ReadonlyMap<string, readonly unknown[]>;
}

/** Limits for schemas that contain themselves, and for hostile ones. */
const MAX_DEPTH = 8;
const MAX_VALUES = 2_000;

/** What a response has only if something failed, and the value of a status that says so. */
const FAILURE = /^(?:is_?|has_?)?(?:errors?|faults?)$/i;
const FAILED = /^(?:errors?|errored|fail(?:ed|ure)?)$/i;

/** Whether a path of the contract can have this name. */
function isExpressible(name: string): boolean {
  return isPrintable(name) && !/[.[\]:,|\s]/.test(name);
}

/** A value to make up, and where it goes. */
interface Task {
  readonly schemas: readonly unknown[];
  readonly path: readonly string[];
  readonly depth: number;
  readonly put: (value: unknown) => void;
}

/**
 * Makes up a value that a schema describes, with every property. Equal names have equal values, and different names
 * different ones: `id` and `uuid` may be two things.
 * @throws OpenApiError as `shapeOf`
 */
export function exampleOf(document: OpenApiDocument, schema: unknown): Example {
  const numbers = new Map<string, number>();
  const choices = new Map<string, readonly unknown[]>();
  const root: { value?: unknown } = {};
  const putRoot = (value: unknown) => Object.assign(root, { value });
  const tasks: Task[] = [{ schemas: [schema], path: [], depth: 0, put: putRoot }];
  // Breadth first: what is deep matters least.
  for (const { schemas, path, depth, put } of tasks) {
    const shape = shapeOf(document, schemas);
    const name = path.at(-1) ?? '';
    if (shape.choices.length > 0) choices.set(path.join('.'), shape.choices);
    const add = (task: Omit<Task, 'depth'>) => {
      if (depth < MAX_DEPTH && tasks.length < MAX_VALUES) tasks.push({ ...task, depth: depth + 1 });
    };
    if (shape.properties.size > 0) {
      const object: Record<string, unknown> = Object.create(null);
      for (const [key, inner] of shape.properties) {
        if (!isExpressible(key) || FAILURE.test(key)) continue;
        add({ schemas: inner, path: [...path, key], put: (value) => Object.assign(object, { [key]: value }) });
      }
      put(object);
    } else if (shape.items.length > 0) {
      const list: unknown[] = [];
      add({ schemas: shape.items, path, put: (value) => list.push(value) });
      put(list);
    } else {
      const number = numbers.get(name) ?? numbers.size + 2;
      numbers.set(name, number);
      put(scalarOf(shape, name, number));
    }
  }
  return { value: root.value, choices };
}

function scalarOf({ types, formats, choices }: Shape, name: string, number: number): unknown {
  const choice = choices.find((each) => typeof each !== 'string' || !FAILED.test(each)) ?? choices[0];
  if (choice !== undefined) return choice;
  const isUrl = /^(?:href|ur[il]|link)$/i.test(name) || formats.some((format) => /^ur[il]/.test(format));
  if (types.has('string')) return isUrl ? `https://example.com/${name}` : name;
  if (types.has('integer') || types.has('number')) return number;
  if (types.has('boolean')) return true;
  if (types.has('array')) return [];
  return types.has('object') ? {} : types.has('null') ? null : undefined;
}
