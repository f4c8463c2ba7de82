import type { Sink } from '../cli/io.ts';
import { UsageError } from '../errors.ts';
import type { CommandResult, ListResult, ObjectResult, StreamResult } from './command-result.ts';
import { eventWriter } from './formats/events.ts';
import { writeJson, writeNdjson } from './formats/json.ts';
import { writeTsv } from './formats/tsv.ts';
import { sanitizeText } from './sanitize.ts';

export const OUTPUT_FORMATS = ['table', 'json', 'ndjson', 'yaml', 'tsv'] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export interface RenderOptions {
  readonly format: OutputFormat;
  /** A JMESPath expression over the answer's JSON form; what it finds is shown in place of the answer. */
  readonly query?: string | undefined;
  readonly color: boolean;
  readonly quiet: boolean;
}

export interface RenderIo {
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Removes secrets from a text. The sinks do so too, but cannot find a secret that a table has cut short. */
  readonly redact?: (text: string) => string;
}

async function notice(text: string, io: RenderIo): Promise<void> {
  if (text !== '') await io.stderr.write(`${sanitizeText(text)}\n`);
}

async function renderTable(answer: ListResult | ObjectResult, how: RenderOptions, io: RenderIo): Promise<void> {
  // Loaded here because scripts, which never ask for tables, are to start fast. The same goes for YAML and queries.
  const { writeTable } = await import('./formats/table.ts');
  const shown = await writeTable(answer, io.stdout, { color: how.color, redact: io.redact });
  if (answer.kind === 'object' || how.quiet) return;
  if (!shown) await notice(answer.empty, io);
  if (answer.summary) await notice(answer.summary(), io);
}

async function renderQuery(
  query: string,
  answer: ListResult | ObjectResult,
  how: RenderOptions,
  io: RenderIo,
): Promise<void> {
  const {
    prepareQuery,
    toJsonForm: wholeForm,
    toHumanResult: resultForPeople,
    toScriptResult: resultForScripts,
  } = await import('./query.ts');
  const find = await prepareQuery(query);
  const result = find(await wholeForm(answer));
  const forPeople = how.format === 'table' || how.format === 'tsv';
  await render(forPeople ? resultForPeople(result) : resultForScripts(result), { ...how, query: undefined }, io);
}

async function renderStream(answer: StreamResult, how: RenderOptions, io: RenderIo): Promise<void> {
  if (how.query === undefined) {
    const textOf = await eventWriter(how.format, how.color);
    for await (const event of answer.events) await io.stdout.write(textOf(event));
    return;
  }
  const { prepareQuery, toHumanResult: resultForPeople } = await import('./query.ts');
  const find = await prepareQuery(how.query);
  const forPeople = how.format === 'table' || how.format === 'tsv';
  const textOf = await eventWriter(how.format, how.color);
  const plain = { ...how, query: undefined };
  for await (const event of answer.events) {
    const json = find(event.json);
    if (forPeople) await render(resultForPeople(json), plain, io);
    else await io.stdout.write(textOf({ ...event, json }));
  }
}

async function renderData(answer: ListResult | ObjectResult, how: RenderOptions, io: RenderIo): Promise<void> {
  const forPeople = how.format === 'table' || how.format === 'tsv';
  if (forPeople && answer.kind === 'object' && answer.text !== undefined) {
    if (answer.text !== '') await io.stdout.write(answer.text);
    return;
  }
  switch (how.format) {
    case 'json':
      return writeJson(answer, io.stdout);
    case 'ndjson':
      return writeNdjson(answer, io.stdout);
    case 'tsv':
      return writeTsv(answer, io.stdout);
    case 'yaml': {
      const { writeYaml } = await import('./formats/yaml.ts');
      return writeYaml(answer, io.stdout);
    }
    case 'table':
      return renderTable(answer, how, io);
  }
}

/**
 * Writes an answer: data on stdout in the format asked for, and for tables the notices (nothing found, summary) on
 * stderr. A list's rows are pulled to the end whatever the format; a stream's events are written as they happen, and a
 * query is asked of each of them.
 *
 * Rejects with what the row source fails with; JSON, YAML and tables have then written nothing (JSON and YAML: as long
 * as the list is under about 4 MiB), the others what came before. Rejects with the sink's error (EPIPE: the reader is
 * gone) after closing the row source. A query that cannot be applied, or asked of a plain text, is a UsageError.
 */
export async function render(answer: CommandResult, how: RenderOptions, io: RenderIo): Promise<void> {
  switch (answer.kind) {
    case 'none':
      return;
    case 'text':
      if (how.query !== undefined) {
        throw new UsageError('--query has nothing to search: this command answers with plain text', {
          hint: 'Leave --query out.',
        });
      }
      if (answer.text !== '') await io.stdout.write(answer.text);
      return;
    case 'stream':
      return renderStream(answer, how, io);
    default:
      if (how.query === undefined) return renderData(answer, how, io);
      return renderQuery(how.query, answer, how, io);
  }
}
