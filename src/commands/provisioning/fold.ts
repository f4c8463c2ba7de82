import type { SpacePlan, Step } from '../../provision/plan.ts';

/* Which spaces of a plan are shown as one. */

/** Whether a space is shown by itself: somebody has to look at it. */
export function isSpecial({ failures, differences, unmanaged }: SpacePlan): boolean {
  return failures.length + differences.length + unmanaged.length > 0;
}

/** A text of a plan as its manifest has it, before variables are put in. */
export function asWritten({ document }: SpacePlan): (text: string) => string {
  return (text) => document.written?.get(text) ?? text;
}

/** What a step does, whatever customer it is for: each has its own name. */
function contentOf(step: Step): readonly unknown[] {
  if (step.op === 'create_space') return [step.op, step.detail];
  const { op, name, agent } = step;
  return [op, name, agent.wanted.name, op === 'create_job' ? step.wanted : step.detail];
}

/** Equal for spaces that have the same to do. */
function keyOf(plan: SpacePlan): string {
  const write = asWritten(plan);
  const planned = plan.steps.filter(({ status }) => status === 'planned').map(contentOf);
  return JSON.stringify(planned, (_, value: unknown) => (typeof value === 'string' ? write(value) : value));
}

/** Spaces that are shown as one, in input order. */
export interface Entry {
  readonly plan: SpacePlan;
  /** The last one; of a single space, the same. */
  readonly last: SpacePlan;
  readonly count: number;
}

/** Makes one entry of the spaces that have the same to do, and, behind these, one of each that is special. */
export function foldPlans(plans: readonly SpacePlan[], isWide: boolean): readonly Entry[] {
  const entries = new Map<unknown, Entry>();
  const isAlone = (plan: SpacePlan) => isWide || isSpecial(plan);
  for (const plan of plans) {
    const key = isAlone(plan) ? plan : keyOf(plan);
    const { plan: first, count } = entries.get(key) ?? { plan, count: 0 };
    entries.set(key, { plan: first, last: plan, count: count + 1 });
  }
  const all = [...entries.values()];
  return [...all.filter(({ plan }) => !isSpecial(plan)), ...all.filter(({ plan }) => isSpecial(plan))];
}
