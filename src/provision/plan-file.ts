import { hash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { isJsonObject } from '../contract/json.ts';
import { describeFileError, InputError, LocalError, PlanStaleError, UsageError } from '../errors.ts';
import { YAML_FILE } from '../yaml/sources.ts';
import type { Manifest, ManifestDocument } from './manifest.ts';
import { blockPlan, type SpacePlan } from './plan.ts';
import { changesSince, type JobsByAgent, snapshotOf } from './snapshot.ts';

const plannedSpace = v.object({
  source: v.string(),
  places: v.record(v.string(), v.string()),
  /** As it was checked: the hash of the file says that it is as it was written. */
  manifest: v.custom<Manifest>(isJsonObject),
  /** What was read of the space: see `Snapshot`. */
  observed: v.record(v.string(), v.string()),
  /** The keys of the steps to carry out. */
  steps: v.array(v.string()),
});

const planFile = v.object({
  /** The version of the format. */
  partnerctl_plan: v.literal(2),
  /** The base URL of the service. */
  service: v.string(),
  /** Of all documents, also of those that are not in `spaces`. */
  input_sha256: v.string(),
  /** The spaces, by external id, that may get a second agent or job beside one that seems to be it. */
  create_beside: v.array(v.string()),
  /** Whether the jobs were listed: otherwise, they are not in what was observed. */
  jobs_listed: v.boolean(),
  /** Where there is something to do, and nothing is blocked. */
  spaces: v.array(plannedSpace),
});

/** A plan as `plan --out` writes it and `apply` carries it out. It holds all that will be sent. */
type PlanFile = v.InferOutput<typeof planFile>;

type PlannedSpace = PlanFile['spaces'][number];

const HINT = 'Make a new plan with: partnerctl plan <file...> --out plan.json';

function sha256(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'hex');
}

/** Hashes what manifests say, in whatever order and however they are written. */
function inputHash(documents: readonly ManifestDocument[]): string {
  return sha256(documents.map(({ manifest }) => JSON.stringify(manifest)).sort());
}

function toPlannedSpace(plan: SpacePlan, jobs: JobsByAgent): PlannedSpace[] {
  const { source, places, manifest } = plan.document;
  const steps = plan.steps.filter(({ status }) => status === 'planned').map(({ key }) => key);
  if (plan.failures.length > 0 || steps.length === 0) return [];
  return [{ source, places, manifest, observed: snapshotOf(plan, jobs), steps }];
}

/**
 * Writes a plan into a file that only its owner can read: what variables hold is in it.
 * @returns the number of spaces in it
 * @throws LocalError if it cannot be written
 */
export async function writePlan(
  path: string,
  plans: readonly SpacePlan[],
  jobs: JobsByAgent | undefined,
  {
    service,
    createBeside,
    input,
  }: {
    readonly service: string;
    readonly createBeside: ReadonlySet<string>;
    /** All manifests, also those that were not selected. */
    readonly input: readonly ManifestDocument[];
  },
): Promise<number> {
  const plan: PlanFile = {
    partnerctl_plan: 2,
    service,
    input_sha256: inputHash(input),
    create_beside: [...createBeside],
    jobs_listed: jobs !== undefined,
    spaces: plans.flatMap((each) => toPlannedSpace(each, jobs ?? new Map())),
  };
  try {
    const file = await open(path, 'w', 0o600);
    try {
      // A file that existed has its old mode. A device, such as /dev/null, is for others, too.
      if ((await file.stat()).isFile()) await file.chmod(0o600);
      await file.writeFile(`${JSON.stringify({ ...plan, sha256: sha256(plan) }, null, 2)}\n`);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new LocalError(`The plan ${path} cannot be written.`, { why: describeFileError(error), cause: error });
  }
  return plan.spaces.length;
}

/**
 * Reads the file of a plan. Its id is the start of its hash.
 * @param service the base URL of the service that it must be for
 * @param input the manifests that it must have been made of, if they are given
 * @throws InputError if it cannot be read, is none, or was edited; UsageError if it is for another service, or of other
 *   manifests
 */
export async function readPlan(
  path: string,
  service: string | undefined,
  input: readonly ManifestDocument[] | undefined,
): Promise<PlanFile & { readonly id: string }> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) {
      const info = { why: describeFileError(error), hint: HINT, cause: error };
      throw new InputError(`The plan ${path} cannot be read.`, info);
    }
  }
  const { sha256: stated, ...content } = isJsonObject(parsed) ? parsed : {};
  const { success, output: plan } = v.safeParse(planFile, content);
  if (!success) {
    const hint = YAML_FILE.test(path) ? 'To carry out manifests, use: partnerctl provision <file...>' : HINT;
    throw new InputError(`The file ${path} is not a plan, or was damaged.`, { hint });
  }
  const hash = sha256(content);
  if (stated !== hash) throw new InputError(`The plan ${path} was edited after it was made.`, { hint: HINT });
  const wrong =
    input && inputHash(input) !== plan.input_sha256
      ? 'was made of other manifests, or of other values of variables.'
      : service !== undefined && service !== plan.service && `is for ${plan.service}, not for ${service}.`;
  if (wrong) throw new UsageError(`The plan ${path} ${wrong}`, { hint: HINT });
  return { ...plan, id: hash.slice(0, 16) };
}

/**
 * Limits the plan of a space, as it is now, to what an earlier plan had to do: blocked if somebody else has changed the
 * space since, or if it would need more.
 * @param jobs those of the service; none if the earlier plan did not see them
 */
export function limitToPlanned(plan: SpacePlan, { observed, steps: keys }: PlannedSpace, jobs: JobsByAgent): SpacePlan {
  const planned = new Set(keys);
  const changes = [
    ...changesSince(observed, plan, jobs, planned),
    ...plan.steps
      .filter(({ key, status }) => status === 'planned' && !planned.has(key))
      .map(({ op, name }) => `missing: ${op === 'create_job' ? 'job' : 'agent'} ${JSON.stringify(name)}`),
  ];
  if (changes.length === 0) return plan;
  const id = JSON.stringify(plan.document.manifest.external_space_id);
  const error = new PlanStaleError(`The space ${id} is not as it was when the plan was made.`, {
    why: changes.join('\n'),
    hint: `This run sent nothing for it. ${HINT}`,
    details: { changes },
  });
  return blockPlan(plan, [{ error, source: plan.document.source }]);
}
