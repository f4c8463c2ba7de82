import { reviewName, reviewSchedule, toSchedule } from '../cron/check-job.ts';
import type { CronJob } from '../cron/job.ts';
import type { Problem } from '../yaml/problem.ts';
import { quoted } from '../yaml/quote.ts';
import { readYaml, type YamlDocument } from '../yaml/read.ts';
import type { YamlSource } from '../yaml/source-text.ts';
import { type Manifest, type ManifestAgent, manifestSchema } from './manifest-schema.ts';

export { LIMITS } from '../yaml/limits.ts';
export type { Problem } from '../yaml/problem.ts';
export type { Manifest, ManifestAgent } from './manifest-schema.ts';

export interface ManifestDocument {
  /** File and line where the document's content begins: `acme.yaml:1`. */
  readonly source: string;
  /** The document's number among those of the run that hold something, from 0. */
  readonly index: number;
  readonly manifest: Manifest;
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Two documents for one space would undo each other's work. */
function differentSpaces(): (document: YamlDocument<Manifest>) => void {
  const places = new Map<string, string>();
  return (document) => {
    const path = ['external_space_id'];
    const id = document.get(path);
    if (!isFilled(id)) return;
    const first = places.get(id);
    if (first === undefined) places.set(id, document.location(path));
    else document.report(path, `the space ${quoted(id)} is described twice, first at ${first}`);
  };
}

/** A repeat of the run could not tell two agents of the same template and name apart. */
function differentAgents(document: YamlDocument<Manifest>): void {
  const agents = document.get(['agents']);
  if (!Array.isArray(agents)) return;
  const places = new Map<string, string>();
  for (const index of agents.keys()) {
    const path = ['agents', index, 'name'];
    const template = document.get(['agents', index, 'template_id']);
    const name = document.get(path);
    if (!isFilled(template) || !isFilled(name)) continue;
    const key = JSON.stringify([template, name]);
    const first = places.get(key);
    if (first === undefined) places.set(key, document.location(path));
    else {
      const message = `this agent has the same template and name as the one at ${first}`;
      document.report(path, message, 'give each agent of a template a name of its own');
    }
  }
}

/** What the schema cannot say about the cron jobs of the agents. */
function soundJobs(document: YamlDocument<Manifest>): void {
  const agents = document.get(['agents']);
  if (!Array.isArray(agents)) return;
  for (const index of agents.keys()) {
    const jobs = document.get(['agents', index, 'cron']);
    if (!Array.isArray(jobs)) continue;
    const names = new Map<string, string>();
    for (const number of jobs.keys()) {
      const path = ['agents', index, 'cron', number];
      reviewSchedule(document, path);
      reviewName(document, path, '', names);
    }
  }
}

/**
 * The cron jobs of an agent of a manifest that was read without problems, their schedules as they go on the wire.
 * @throws ScheduleError where that does not hold
 */
export function cronJobsOf({ cron = [] }: Pick<ManifestAgent, 'cron'>): Omit<CronJob, 'agent_id'>[] {
  return cron.map((given) => ({
    name: given.name,
    instructions: given.instructions,
    schedule: toSchedule(given),
  }));
}

/**
 * Reads and checks manifests (spec §4.1): every document of every source.
 * @param lookup the value of a variable that a manifest puts in; undefined where it is not set
 * @returns the valid documents in order, and everything that is wrong, ordered by source, line and column.
 *   Nothing may be sent while there is a problem.
 */
export function readManifests(
  sources: readonly YamlSource[],
  lookup: (name: string) => string | undefined,
): { documents: ManifestDocument[]; problems: Problem[] } {
  const compareSpaces = differentSpaces();
  const review = (document: YamlDocument<Manifest>): void => {
    compareSpaces(document);
    differentAgents(document);
    soundJobs(document);
  };
  const { documents, problems } = readYaml(sources, { schema: manifestSchema, lookup, review });
  return { documents: documents.map(({ source, value }, index) => ({ source, index, manifest: value })), problems };
}
