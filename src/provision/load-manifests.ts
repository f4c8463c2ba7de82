import type { Context } from '../cli/context.ts';
import { problemsError } from '../yaml/problem.ts';
import { readSources } from '../yaml/sources.ts';
import { type ManifestDocument, readManifests } from './manifest.ts';
import type { ManifestArgs } from './manifest-args.ts';

/**
 * Reads the documents of manifest files; nothing is sent.
 * @throws InputError that shows every mistake with file, line, and column
 */
export async function loadManifests(
  context: Context,
  { files, variables }: Pick<ManifestArgs, 'files' | 'variables'>,
): Promise<ManifestDocument[]> {
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const used = new Set<string>();
  const { documents, problems } = readManifests(sources, (name) => {
    used.add(name);
    return variables.get(name) ?? context.env[name];
  });
  if (problems.length > 0) throw problemsError(problems);
  const unused = [...variables.keys()].filter((name) => !used.has(name));
  if (unused.length > 0) await context.notice(`note: no manifest uses --var ${unused.join(', ')}.`);
  return documents;
}
