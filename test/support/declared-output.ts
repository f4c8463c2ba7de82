import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { findCommand, typedOutputFormat } from '../../src/cli/parse.ts';
import type { JsonSchema, OutputShape } from '../../src/output/output-schema.ts';

export type { JsonSchema, OutputShape };

/** Forbids fields that a schema does not declare, in objects that it does not leave open: help must list each. */
function closed(schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, closed(value)])),
      additionalProperties: additionalProperties ?? false,
    }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: closed(additionalProperties) }),
    ...(items && { items: closed(items) }),
    ...(anyOf && { anyOf: anyOf.map(closed) }),
  };
}

/** Compiles schemas, each once. */
export function createCompiler(): (schema: JsonSchema) => ValidateFunction {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  const compiled = new Map<JsonSchema, ValidateFunction>();
  return (schema) => {
    const known = compiled.get(schema) ?? ajv.compile(closed(schema));
    compiled.set(schema, known);
    return known;
  };
}

const compile = createCompiler();

/** Returns the schema of a line of ndjson, or null if there is none. */
export function lineSchema({ json, ndjson }: OutputShape): JsonSchema | null {
  return ndjson ?? json?.items ?? json;
}

function hasFlag(argv: readonly string[], flag: string, { flags }: Command): boolean {
  const [, short] =
    flags.map(({ usage }) => /^(-\w), --([\w-]+)/.exec(usage)).find((match) => match?.[2] === flag) ?? [];
  return argv.some(
    (argument) =>
      argument === `--${flag}` || argument.startsWith(`--${flag}=`) || (short && argument.startsWith(short)),
  );
}

/** Checks that the output of a command for programs matches its help. */
export async function expectDeclaredOutput(argv: readonly string[], format: string | undefined, stdout: string) {
  const isQuery = argv.some((argument) => argument === '--query' || argument.startsWith('--query='));
  if (stdout === '' || isQuery || (format !== 'json' && format !== 'ndjson')) return;
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const entry = findCommand(own);
  if (entry === undefined || own[0] === 'help' || own.includes('--help') || own.includes('-h')) return;
  const command = (await entry.load()).default;
  const output = await command.output();
  const shape = output.variants?.find(({ flags }) => flags.some((flag) => hasFlag(own, flag, command))) ?? output;
  const inLines = format === 'ndjson' || shape.json === null;
  const schema = inLines ? lineSchema(shape) : shape.json;
  if (schema === null) return;
  const validate = compile(schema);
  const documents = inLines ? stdout.trimEnd().split('\n') : [stdout];
  for (const text of documents) {
    const value: unknown = JSON.parse(text);
    if (validate(value)) continue;
    const problems = validate.errors?.map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    expect.fail(
      `${entry.commandPath} prints what its output schema does not say:\n${problems?.join('\n')}\n${text.slice(0, 2000)}`,
    );
  }
}

/** The output format of a command line. */
export function outputFormat(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): string | undefined {
  return typedOutputFormat(argv) ?? env.PARTNER_OUTPUT;
}
