import { setUpChatSource } from '../api/calls.ts';
import { CHAT_DEFAULTS } from '../chat/chat-fields.ts';
import { emitted, mapConcurrent } from '../platform/emitted.ts';
import type { Log } from '../state/log.ts';
import { sourceDifferences, wantedChat } from './differences.ts';
import { inStep, missingAgentIdError, stopsProvisioning, unrecordedError } from './failures.ts';
import { type InstallDeps, installMissing } from './install.ts';
import { createPlannedJobs, describeJobs } from './jobs.ts';
import type { ManifestAgent, ManifestDocument } from './manifest.ts';
import {
  failRest,
  failStep,
  plannedSteps,
  type SpacePlan,
  type Step,
  skipRest,
  unstartedPlan,
  withSteps,
} from './plan.ts';
import { look, type ProvisionOptions } from './plan-manifests.ts';
import { agentKey, factRecord, type SpaceFact } from './space-record.ts';

export interface ProvisionDeps extends InstallDeps {
  readonly log: Log;
  /** What the state has about the spaces, by external id. */
  readonly facts: ReadonlyMap<string, SpaceFact>;
}

function hasSkippedJob({ steps }: SpacePlan): boolean {
  return steps.some(({ op, status }) => op === 'create_job' && status === 'skipped');
}

/** Carries out documents. What a failure of one means for the others is kept here. */
class Provisioner {
  private readonly deps: ProvisionDeps;
  private readonly options: ProvisionOptions & { readonly failFast: boolean };
  /** Why nothing more is started. */
  private stop: { readonly reason: unknown } | undefined;
  private stateCheck: Promise<void> | undefined;

  constructor(deps: ProvisionDeps, options: Provisioner['options']) {
    this.deps = deps;
    this.options = options;
  }

  /** Provisions the space of a document, its agents, and their chats. Failures are in the plan. */
  async apply(document: ManifestDocument): Promise<SpacePlan> {
    const { interrupt } = this.deps;
    if (this.stop || interrupt.aborted) return await this.describe(unstartedPlan(document, 'skipped'));
    const plan = await this.carryOut(document);
    const { failFast } = this.options;
    if (plan.error !== undefined && (failFast || stopsProvisioning(plan.error))) this.stop ??= { reason: plan.error };
    return plan;
  }

  /** Creates the jobs of the applied documents. */
  async createJobs(plans: readonly SpacePlan[]): Promise<readonly SpacePlan[]> {
    const { interrupt, createJobs } = this.deps;
    const stop = interrupt.aborted ? { reason: interrupt.reason as unknown } : this.stop;
    if (stop) return plans.map((plan) => failRest(plan, stop.reason));
    try {
      const done = await createPlannedJobs(plans, createJobs, true);
      // What ended the run is also the error of the documents whose jobs were not started.
      const end = interrupt.aborted
        ? (interrupt.reason as unknown)
        : done.find(({ error }) => error !== undefined)?.error;
      return done.map((plan) => (plan.error === undefined && hasSkippedJob(plan) ? { ...plan, error: end } : plan));
    } catch (error) {
      return plans.map((plan) => failRest(plan, error));
    }
  }

  /** Before the first write: what is created could not be recorded. @throws LocalError */
  private checkState(): Promise<void> {
    this.stateCheck ??= this.deps.log.check();
    return this.stateCheck;
  }

  private async describe(plan: SpacePlan): Promise<SpacePlan> {
    return await describeJobs(plan, this.deps.describe, this.deps.clock.now());
  }

  private async carryOut(document: ManifestDocument): Promise<SpacePlan> {
    let plan: SpacePlan;
    try {
      plan = await look(this.deps, document, this.options);
    } catch (error) {
      return await this.describe(unstartedPlan(document, 'failed', error));
    }
    if (plan.error !== undefined) return plan;
    if (plannedSteps(plan).length > 0) {
      try {
        await this.checkState();
      } catch (error) {
        return failRest(plan, error);
      }
    }
    plan = await installMissing(this.deps, plan, this.options);
    if (plan.error === undefined) plan = await this.setUpChats(plan);
    return await this.record(plan);
  }

  /** Sets up the chats that are missing (spec §4.2): the call is safe to repeat. */
  private async setUpChats(applied: SpacePlan): Promise<SpacePlan> {
    const { manifest } = applied.document;
    let plan = applied;
    for (const { agent: index } of plannedSteps(applied, 'setup_chat')) {
      const step = plannedSteps(plan, 'setup_chat').find(({ agent }) => agent === index);
      const wanted = manifest.agents[index ?? -1];
      if (!step || !wanted) continue;
      try {
        if (this.stop) throw this.stop.reason;
        plan = await this.setUpChat(plan, step, wanted);
      } catch (error) {
        return failStep(
          plan,
          step,
          inStep(`The API chat of the agent ${JSON.stringify(step.name)} is not set up`, error),
        );
      }
    }
    return plan;
  }

  private async setUpChat(plan: SpacePlan, step: Step, wanted: ManifestAgent): Promise<SpacePlan> {
    const asked = wantedChat(wanted) ?? {};
    const spaceId = plan.space_id ?? '';
    const agentId = plan.agents[step.agent ?? -1]?.agent_id ?? null;
    if (agentId === null) throw missingAgentIdError(spaceId, `chat setup ${spaceId} <agent_id>`);
    const isNewAgent = plan.steps.some(
      ({ op, agent, status }) => op === 'install_agent' && agent === step.agent && status === 'created',
    );
    const source = await setUpChatSource(this.deps.http, spaceId, agentId, { ...CHAT_DEFAULTS, ...asked });
    const { source_id, created = isNewAgent } = source;
    const done: Step = { ...step, id: source_id, status: created ? 'created' : 'unchanged' };
    return {
      ...withSteps(plan, (each) => (each === step ? done : each)),
      agents: plan.agents.map((agent, index) => (index === step.agent ? { ...agent, source_id } : agent)),
      differences: [...plan.differences, ...sourceDifferences(step.name, source, asked)],
    };
  }

  /** Records which space it is, and which agents it has, unless the state has that. */
  private async record(plan: SpacePlan): Promise<SpacePlan> {
    const { log, facts, http } = this.deps;
    const { space_id, agents, document } = plan;
    if (space_id === null) return plan;
    const { manifest } = document;
    const earlier = facts.get(manifest.external_space_id);
    const current = manifest.agents.flatMap((agent, index) => {
      const { agent_id = null, source_id = null } = agents[index] ?? {};
      return agent_id === null ? [] : [{ key: agentKey(agent), agent_id, template_id: agent.template_id, source_id }];
    });
    const ids = new Set(current.map(({ agent_id }) => agent_id));
    const older = earlier?.space_id === space_id ? earlier.agents.filter(({ agent_id }) => !ids.has(agent_id)) : [];
    const fact: SpaceFact = {
      origin: http.baseUrl,
      external_space_id: manifest.external_space_id,
      space_id,
      agents: [...older, ...current],
    };
    if (JSON.stringify(fact) === JSON.stringify(earlier)) return plan;
    const { type, fields } = factRecord(fact);
    try {
      await log.append([log.newRecord(type, fields)]);
      return plan;
    } catch (error) {
      // What existed before can be found again.
      const isNew = plan.steps.some(({ status }) => status === 'created');
      return isNew ? skipRest(plan, unrecordedError(space_id, error)) : plan;
    }
  }
}

/**
 * Creates or reuses the spaces, installs missing agents, sets up chats, and then creates the jobs of all documents. Yields the
 * plan of each document when nothing more is to be done for it; failures are in it. Runs to the end even if nobody reads the
 * plans: a space without its jobs would be half done.
 */
export function applyManifests(
  deps: ProvisionDeps,
  documents: readonly ManifestDocument[],
  options: ProvisionOptions & { readonly failFast: boolean },
): AsyncGenerator<SpacePlan> {
  const provisioner = new Provisioner(deps, options);
  const concurrency = options.failFast ? 1 : options.concurrency;
  return emitted(async (emit) => {
    const withJobs: SpacePlan[] = [];
    for await (const plan of mapConcurrent(documents, concurrency, (document) => provisioner.apply(document))) {
      if (plan.error === undefined && plannedSteps(plan, 'create_job').length > 0) withJobs.push(plan);
      else emit(plan);
    }
    for (const plan of withJobs.length > 0 ? await provisioner.createJobs(withJobs) : []) emit(plan);
  });
}
