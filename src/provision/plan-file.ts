import { hash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { describeFileError, InputError, LocalError, PlanStaleError } from '../errors.ts';
import { type ManifestDocument, manifestSchema } from './manifest.ts';
import type { SpacePlan } from './plan.ts';
import { isPlanned, type JobsByAgent, plannedStep, readingOf, toPlannedStep } from './reading.ts';

const plannedSpace = v.object({
  source: v.string(),
  manifest: manifestSchema,
  /** As `readingOf` returns it. */
  reading_sha256: v.string(),
  steps: v.array(plannedStep),
});

const planFile = v.object({
  /** The version of the format. */
  partnerctl_plan: v.literal(1),
  /** The base URL of the service. */
  service: v.string(),
  /** Of all documents, also of those that are not in `spaces`. */
  input_sha256: v.string(),
  install_renamed: v.boolean(),
  /** Whether the jobs were listed: otherwise, they are not in the hashes of the readings. */
  jobs_listed: v.boolean(),
  /** Where there is something to do, and nothing is blocked. */
  spaces: v.array(plannedSpace),
});

/** A plan as `plan --out` writes it and `apply` carries it out. It holds all that will be sent. */
export type PlanFile = v.InferOutput<typeof planFile>;

type PlannedSpace = v.InferOutput<typeof plannedSpace>;

/** Hashes what manifests say, in whatever order and however they are written. */
export function inputHash(documents: readonly ManifestDocument[]): string {
  const texts = documents.map(({ manifest }) => JSON.stringify(manifest)).sort();
  return hash('sha256', JSON.stringify(texts), 'hex');
}

function toPlannedSpace(plan: SpacePlan, jobs: JobsByAgent): PlannedSpace | undefined {
  const { source, manifest } = plan.document;
  const steps = plan.steps.filter(({ status }) => status === 'planned').map(toPlannedStep);
  if (plan.error !== undefined || steps.length === 0) return undefined;
  return { source, manifest, reading_sha256: readingOf(plan, jobs), steps };
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
  about: { readonly service: string; readonly installRenamed: boolean },
): Promise<number> {
  const plan: PlanFile = {
    partnerctl_plan: 1,
    service: about.service,
    input_sha256: inputHash(plans.map(({ document }) => document)),
    install_renamed: about.installRenamed,
    jobs_listed: jobs !== undefined,
    spaces: plans.flatMap((each) => toPlannedSpace(each, jobs ?? new Map()) ?? []),
  };
  try {
    const file = await open(path, 'w', 0o600);
    try {
      // A file that existed has its old mode. A device, such as /dev/null, is for others, too.
      if ((await file.stat()).isFile()) await file.chmod(0o600);
      await file.writeFile(`${JSON.stringify(plan, null, 2)}\n`);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new LocalError(`The plan ${path} cannot be written.`, { why: describeFileError(error), cause: error });
  }
  return plan.spaces.length;
}

/** Reads the file of a plan. @throws InputError if it cannot be read, or is none */
export async function readPlan(path: string): Promise<PlanFile> {
  const hint = 'Make a plan with: partnerctl plan <file...> --out plan.json';
  try {
    const text = await readFile(path, 'utf8');
    const { success, output } = v.safeParse(planFile, JSON.parse(text));
    if (success) return output;
  } catch (error) {
    if (!(error instanceof SyntaxError)) {
      throw new InputError(`The plan ${path} cannot be read.`, { why: describeFileError(error), hint, cause: error });
    }
  }
  throw new InputError(`The file ${path} is not a plan, or was damaged.`, { hint });
}

/**
 * Returns the error for a space that is not as the plan found it, save for what the plan itself has done since; also for
 * one that would now need more than the plan has. Marks jobs that the plan does not create as unchanged: they existed.
 */
export function staleError(
  plan: SpacePlan,
  { reading_sha256, steps }: PlannedSpace,
  jobs: JobsByAgent,
): PlanStaleError | undefined {
  const others = plan.steps.filter((step) => step.status === 'planned' && !isPlanned(step, steps));
  const needsMore = others.some(({ op }) => op !== 'create_job');
  for (const step of others) if (step.op === 'create_job') step.status = 'unchanged';
  if (!needsMore && readingOf(plan, jobs, steps) === reading_sha256) return undefined;
  const id = JSON.stringify(plan.document.manifest.external_space_id);
  return new PlanStaleError(`The space ${id} is not as it was when the plan was made.`, {
    hint: 'This run sent nothing for it. Make a new plan with: partnerctl plan <file...> --out plan.json',
  });
}
