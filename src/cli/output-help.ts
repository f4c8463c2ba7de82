import type { CommandOutput, JsonSchema, OutputShape } from '../output/output-schema.ts';
import { wrapText } from '../output/wrap.ts';

const INDENT = '  ';

/** An object with so few fields is an envelope: what is in it is shown, too. */
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

/** @returns undefined if there is nothing to say besides the name */
function formatParts(schema: JsonSchema): string | undefined {
  const { items, properties } = schema;
  if (items?.properties) return `[${formatFields(items, true)}]`;
  return properties && formatFields(schema, true);
}

/** The names of the fields: `?` marks those that may be absent, `…` stands for those of the service. */
function formatShape(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(formatShape).join(' or ');
  if (schema.properties) return formatFields(schema);
  if (schema.items) return `array of ${formatShape(schema.items)}`;
  return schema.description ?? 'any JSON';
}

/** What the lines of ndjson are, where that does not follow from the document. */
function formatLines(line: JsonSchema, document: JsonSchema): string {
  const [name] = Object.entries(document.properties ?? {}).find(([, { items }]) => items === line) ?? [];
  return name === undefined ? `-o ndjson: a line each: ${formatShape(line)}` : `-o ndjson: a line for each of ${name}`;
}

function formatOne({ json, ndjson, text }: OutputShape, byDefault?: OutputShape): readonly string[] {
  if (text !== undefined) return [text];
  if (json === null) return ndjson ? [`a line each: ${formatShape(ndjson)}`] : [];
  if (json.items && json.items === byDefault?.json) return ['array of these'];
  return [formatShape(json), ...(ndjson ? [formatLines(ndjson, json)] : [])];
}

/** Formats the section of a command's help that shows the fields of its JSON. @param columns where it wraps */
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
