import type { CommandOutput, JsonSchema, OutputShape } from '../output/output-schema.ts';
import { wrapText } from '../output/wrap.ts';

const INDENT = '  ';

/** An object with at most this many fields is an envelope, whose content is also shown. */
const ENVELOPE_FIELDS = 3;

function formatFields({ properties = {}, required = [], additionalProperties }: JsonSchema, isNested = false): string {
  const entries = Object.entries(properties);
  const isEnvelope = !isNested && entries.length <= ENVELOPE_FIELDS;
  const names = entries.map(([name, schema]) => {
    const label = required.includes(name) || additionalProperties === true ? name : `${name}?`;
    const parts = isEnvelope ? formatParts(schema) : undefined;
    return parts === undefined ? label : `${label}: ${parts}`;
  });
  return `{${[...names, ...(additionalProperties ? ['…'] : [])].join(', ')}}`;
}

/** @returns undefined for a schema without fields */
function formatParts(schema: JsonSchema): string | undefined {
  const { items, properties } = schema;
  if (items?.properties) return `[${formatFields(items, true)}]`;
  return properties && formatFields(schema, true);
}

/** Lists the names of the fields: `?` marks those that may be absent, `…` stands for fields of the service. */
function formatShape(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(formatShape).join(' or ');
  if (schema.properties) return formatFields(schema);
  if (schema.items) return `array of ${formatShape(schema.items)}`;
  return schema.description ?? 'any JSON';
}

/** Describes the lines of ndjson if the document does not imply them. */
function formatLines(line: JsonSchema, document: JsonSchema): string {
  const [name] = Object.entries(document.properties ?? {}).find(([, { items }]) => items === line) ?? [];
  return name === undefined ? `-o ndjson: one per line: ${formatShape(line)}` : `-o ndjson: one of ${name} per line`;
}

function formatOne({ json, ndjson, text }: OutputShape, byDefault?: OutputShape): readonly string[] {
  if (text !== undefined) return [text];
  if (json === null) return ndjson ? [`one per line: ${formatShape(ndjson)}`] : [];
  if (json.items && json.items === byDefault?.json) return ['array of these'];
  return [formatShape(json), ...(ndjson ? [formatLines(ndjson, json)] : [])];
}

/** Formats the section of a command's help about its output. @param columns the width to wrap at */
export function formatOutput({ variants = [], ...byDefault }: CommandOutput, columns: number): string {
  const lines = [
    ...formatOne(byDefault),
    ...variants.map(
      ({ flags, ...shape }) => `with --${flags.join(' or --')}: ${formatOne(shape, byDefault).join('; ')}`,
    ),
  ];
  const wrapped = lines.map((line) => wrapText(line, columns - INDENT.length, INDENT).replaceAll(/^/gm, INDENT));
  return `\nOutput${byDefault.text === undefined ? ' of -o json' : ''}:\n${wrapped.join('\n')}\n`;
}
