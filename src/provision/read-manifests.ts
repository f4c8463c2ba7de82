import type { Context } from '../cli/context.ts';
import { readYaml } from '../yaml/check.ts';
import { type Problem, problemsError, type YamlSource } from '../yaml/problem.ts';
import { readSources } from '../yaml/sources.ts';
import { checkManifest } from './check-manifest.ts';
import { type ManifestDocument, manifestSchema } from './manifest.ts';
import type { ManifestArgs } from './manifest-args.ts';

/**
 * Parses and checks manifests (spec §4.1): every document of every source.
 * @param lookup the value of a variable; undefined if it is not set
 * @returns the valid documents in order, and the problems by source, line, and column. Nothing may be sent while there
 *   is a problem.
 */
export function parseManifests(
  sources: readonly YamlSource[],
  lookup: (name: string) => string | undefined,
): { documents: ManifestDocument[]; problems: Problem[] } {
  const spaces = new Map<string, string>();
  const { documents, problems } = readYaml(sources, {
    schema: manifestSchema,
    lookup,
    review: (document) => checkManifest(document, spaces),
  });
  return { documents: documents.map(({ source, value }, index) => ({ source, index, manifest: value })), problems };
}

/**
 * Reads the documents of manifest files; nothing is sent.
 * @throws InputError that shows every mistake with file, line, and column
 */
export async function readManifests(
  context: Context,
  { files, variables }: Pick<ManifestArgs, 'files' | 'variables'>,
): Promise<ManifestDocument[]> {
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const used = new Set<string>();
  const { documents, problems } = parseManifests(sources, (name) => {
    used.add(name);
    return variables.get(name) ?? context.env[name];
  });
  if (problems.length > 0) throw problemsError(problems);
  const unused = [...variables.keys()].filter((name) => !used.has(name));
  if (unused.length > 0) await context.notice(`note: no manifest uses --var ${unused.join(', ')}.`);
  return documents;
}
