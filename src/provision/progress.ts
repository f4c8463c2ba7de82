import type { CronResult } from '../cron/ensure-jobs.ts';
import type { Difference } from './differences.ts';
import type { Failure } from './failures.ts';
import { byUrgency, type SpacePlan, type Step, type StepStatus } from './plan.ts';

/** What became of a step. */
interface Settled {
  readonly status: StepStatus;
  readonly id: string | null;
  /** The source that was created together with the agent. */
  readonly source_id?: string | null;
  readonly job?: CronResult;
}

function reported(step: Step, { status, id, job }: Settled): Step {
  return step.op === 'create_job' ? { ...step, status, id, job: job ?? step.job } : { ...step, status, id };
}

/** What a run did of a plan, which itself never changes. */
export class Progress {
  private readonly plan: SpacePlan;
  private readonly settled = new Map<string, Settled>();
  private readonly differences: Difference[] = [];
  private readonly failures: Failure[] = [];

  constructor(plan: SpacePlan) {
    this.plan = plan;
  }

  settle({ key }: Step, settled: Settled): void {
    this.settled.set(key, settled);
  }

  /**
   * Learns from another plan what exists now, after a lost response, or one that lacked an id: whoever created what was
   * missing, it is `created`.
   */
  learn({ steps }: SpacePlan): void {
    const isOpen = ({ status, id }: Step): boolean => status === 'planned' || (status === 'created' && id === null);
    const open = new Set(this.report().steps.flatMap((step) => (isOpen(step) ? [step.key] : [])));
    for (const step of steps) {
      if (step.status !== 'unchanged' || !open.has(step.key)) continue;
      const source_id = step.op === 'create_space' ? null : step.agent.source_id;
      this.settle(step, { status: 'created', id: step.id, source_id });
    }
  }

  /** Adds what a response showed to differ. */
  addDifferences(found: readonly Difference[]): void {
    this.differences.push(...found);
  }

  /** Ends the space: the steps of the one request for it and its agents have failed, what follows is left out. */
  fail(failure: Failure): void {
    for (const step of this.report().steps) {
      const isOfRequest = step.op === 'create_space' || step.op === 'install_agent';
      if (step.status === 'planned') this.settle(step, { status: isOfRequest ? 'failed' : 'skipped', id: null });
    }
    this.failures.push(failure);
  }

  /** The steps of a kind that are still to be done, with the ids that are known by now. */
  open<Op extends Step['op']>(op: Op): Extract<Step, { op: Op }>[] {
    const isOpen = (step: Step): step is Extract<Step, { op: Op }> => step.op === op && step.status === 'planned';
    return this.report().steps.filter(isOpen);
  }

  /** The plan with what was done. */
  report(): SpacePlan {
    const { plan, settled } = this;
    const steps = plan.steps.map((step): Step => {
      const own = settled.get(step.key);
      const now = own ? reported(step, own) : step;
      if (now.op === 'create_space') return now;
      const [install, chat] = [settled.get(now.agent.key), settled.get(`${now.agent.key}/chat`)];
      const source_id = chat?.id ?? install?.source_id ?? now.agent.source_id;
      return { ...now, agent: { ...now.agent, agent_id: install?.id ?? now.agent.agent_id, source_id } };
    });
    return {
      ...plan,
      ...{ steps, space_id: settled.get('space')?.id ?? plan.space_id },
      differences: [...plan.differences, ...this.differences],
      failures: byUrgency([...plan.failures, ...this.failures]),
    };
  }
}
