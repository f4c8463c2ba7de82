import { describe, expect, test } from 'vitest';
import { formatOutput } from '../../src/cli/output-help.ts';
import { COMMANDS } from '../../src/cli/registry.ts';
import type { JsonSchema, OutputShape } from '../../src/output/output-schema.ts';
import { createCompiler, lineSchema } from '../support/declared-output.ts';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

const compile = createCompiler();

/** Builds a value that fits a schema, with every field that it declares. */
function sampleOf(schema: JsonSchema): unknown {
  if (schema.anyOf?.[0]) return sampleOf(schema.anyOf[0]);
  if (schema.enum) return schema.enum[0];
  const [type = 'null'] = [schema.type].flat();
  if (type === 'array') return [sampleOf(schema.items ?? {})];
  if (type !== 'object') return { string: 'text', number: 1, integer: 1, boolean: true, null: null }[type];
  const { properties = {} } = schema;
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, sampleOf(value)]));
}

/** Yields copies of a value that fits a schema, each without one required field. */
function* withoutOneField(value: unknown, schema: JsonSchema): Generator<unknown> {
  const chosen = schema.anyOf?.[0] ?? schema;
  if (Array.isArray(value)) {
    for (const item of withoutOneField(value[0], chosen.items ?? {})) yield [item];
    return;
  }
  if (typeof value !== 'object' || value === null || !chosen.properties) return;
  for (const name of chosen.required ?? []) {
    yield Object.fromEntries(Object.entries(value).filter(([each]) => each !== name));
  }
  for (const [name, nested] of Object.entries(chosen.properties)) {
    const of = Object.entries(value).find(([each]) => each === name)?.[1];
    for (const mutated of withoutOneField(of, nested)) yield { ...value, [name]: mutated };
  }
}

/** Yields the objects in a schema that declare no field at all. */
function* unnamedObjects(schema: JsonSchema): Generator<JsonSchema> {
  const { properties, items, anyOf = [], additionalProperties } = schema;
  if (schema.type === 'object' && !properties && additionalProperties === undefined) yield schema;
  for (const nested of [...Object.values(properties ?? {}), ...(items ? [items] : []), ...anyOf]) {
    yield* unnamedObjects(nested);
  }
}

describe.each(COMMANDS)('$commandPath', ({ load }) => {
  async function shapesOf(): Promise<readonly OutputShape[]> {
    const output = await (await load()).default.output();
    return [output, ...(output.variants ?? [])];
  }

  test('declares its output as schemas that reject an object without one of its fields', async () => {
    for (const shape of await shapesOf()) {
      const schemas = [shape.json, lineSchema(shape)].filter((schema) => schema !== null);
      expect(schemas.length === 0, 'either JSON or a text').toBe(shape.text !== undefined);
      for (const schema of schemas) {
        const validate = compile(schema);
        const sample = sampleOf(schema);
        expect(validate(sample), JSON.stringify(validate.errors)).toBe(true);
        for (const mutated of withoutOneField(sample, schema)) {
          expect(validate(mutated), `${JSON.stringify(mutated)} should be refused`).toBe(false);
        }
        expect([...unnamedObjects(schema)]).toEqual([]);
      }
    }
  });

  test('has flags for each variant of its output', async () => {
    const command = (await load()).default;
    const names = command.flags.flatMap(({ usage }) => usage.match(/(?<=--)[\w-]+/) ?? []);
    const { variants = [] } = await command.output();
    expect(names).toEqual(expect.arrayContaining(variants.flatMap(({ flags }) => flags)));
  });

  test('shows in its help the fields of its output, within the width of a terminal', async () => {
    const section = formatOutput(await (await load()).default.output(), 60);
    for (const { json, ndjson, text } of await shapesOf()) {
      const schema = json?.items ?? json ?? ndjson;
      const fields = Object.keys(schema?.properties ?? schema?.anyOf?.[0]?.properties ?? {});
      for (const part of [...fields, ...(text?.split(' ') ?? [])]) expect(section).toContain(part);
    }
    expect(Math.max(...section.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  });
});

test('the output of commands that no other test runs with -o json fits their schemas', async () => {
  const { env } = await service();
  await run(['login', '--profile', 'acme', '--no-verify', '-o', 'json'], { env });
  for (const name of ['protect', 'unprotect', 'remove']) {
    expect(await run(['profile', name, 'acme', '-o', 'json'], { env })).toMatchObject({ code: 0 });
  }
});
