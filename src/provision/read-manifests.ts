import { isNotShown, toNfc } from '../cron/job.ts';
import { checkUnique } from '../cron/job-file.ts';
import { UsageError } from '../errors.ts';
import { readYaml } from '../yaml/check.ts';
import { fileAndLine, type Path, type SourceRange, type YamlDocument } from '../yaml/document.ts';
import type { Lookup } from '../yaml/interpolate.ts';
import { type Problem, problemsError, type YamlSource } from '../yaml/problem.ts';
import { readSources } from '../yaml/sources.ts';
import { quoted } from '../yaml/text.ts';
import { type Manifest, type ManifestDocument, manifestSchema } from './manifest.ts';
import {
  readVariables,
  type VariableOptions,
  type Variables,
  type VariablesContext,
  warnOfUnused,
} from './variables.ts';

/**
 * Reports agents and jobs that a repeated run could not tell apart.
 * @returns the places of agents and jobs, and of missing texts: see `ManifestDocument`
 */
function checkAgents(document: YamlDocument, { agents }: Manifest): Record<string, string> {
  const places: Record<string, string> = {};
  const add = (path: Path): void => {
    places[path.join('/')] = fileAndLine(document.place(path));
  };
  const addIfMissing = (path: Path): void => {
    const text = document.get(path);
    if (typeof text === 'string' && isNotShown(text)) add(path);
  };
  const firsts = new Map<string, Path>();
  for (const [index, { template_id, name, cron = [] }] of agents.entries()) {
    const path: Path = ['agents', index];
    add(path);
    addIfMissing([...path, 'template_id']);
    addIfMissing([...path, 'chat', 'routing_mode']);
    const key = JSON.stringify([template_id, toNfc(name)]);
    const first = firsts.get(key);
    firsts.set(key, first ?? [...path, 'name']);
    if (first) {
      const place = fileAndLine(document.place(first));
      document.report([...path, 'name'], `this agent has the same template and name as the one at ${place}`);
    }
    const jobs = new Map<string, SourceRange>();
    for (const [number, job] of cron.entries()) {
      const own: Path = [...path, 'cron', number];
      add(own);
      addIfMissing([...own, 'instructions']);
      checkUnique(jobs, ['', job.name], document.place([...own, 'name']));
    }
  }
  return places;
}

/**
 * Parses and checks manifests (spec §4.1): every document of every source.
 * @param lookup the value of a variable; undefined if it is not set
 * @returns the valid documents in order, and the problems. Nothing may be sent while there is a problem.
 */
export function parseManifests(
  sources: readonly YamlSource[],
  lookup: Lookup,
): { documents: ManifestDocument[]; problems: Problem[] } {
  const spaces = new Map<string, string>();
  const found = new Map<object, Pick<ManifestDocument, 'places' | 'written'>>();
  const { documents, problems } = readYaml(sources, {
    schema: manifestSchema,
    lookup,
    other: { key: 'jobs', hint: 'a file of jobs is for: partnerctl cron create -f' },
    review(document, manifest) {
      const path = ['external_space_id'];
      const id = manifest.external_space_id;
      const first = spaces.get(id);
      // Two documents for one space would undo each other's work.
      if (first === undefined) spaces.set(id, fileAndLine(document.place(path)));
      else document.report(path, `the space ${quoted(id)} is described twice, first at ${first}`);
      const { written } = document;
      found.set(manifest, { places: checkAgents(document, manifest), ...(written.size > 0 && { written }) });
    },
  });
  return {
    documents: documents.map(({ source, value: manifest }, index) => {
      return { source, index, manifest, places: {}, ...found.get(manifest) };
    }),
    problems,
  };
}

/**
 * Reads the documents of manifest files; nothing is sent. With rows, each file is read once for each row.
 * @param options where the values of variables come from
 * @param given the values of variables, if they are read already
 * @throws InputError that shows every mistake with file, line, and column; UsageError without a file; as `readVariables`
 */
export async function readManifests(
  context: VariablesContext,
  files: readonly string[],
  options: VariableOptions,
  given?: Variables,
): Promise<readonly ManifestDocument[]> {
  if (files.length === 0) {
    throw new UsageError('No manifest is given.', {
      hint: 'Give a YAML file, a directory, or - for standard input.',
    });
  }
  const variables = given ?? (await readVariables(context, options));
  const { lookup, table } = variables;
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const read = table ? table.rows.flatMap((row) => sources.map((source) => ({ ...source, row }))) : sources;
  const { documents, problems } = parseManifests(read, lookup);
  // After a syntax error in the only file, none would be used.
  if (documents.length > 0 || variables.used.size > 0) await warnOfUnused(variables, context.warn);
  const all = [...(table?.problems ?? []), ...problems];
  if (all.length > 0) throw problemsError(all);
  return documents;
}
