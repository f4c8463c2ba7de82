import pLimit from 'p-limit';
import { setUpChatSource } from '../api/calls.ts';
import { CHAT_DEFAULTS } from '../chat/chat-fields.ts';
import { emitted } from '../platform/emitted.ts';
import type { Log } from '../state/log.ts';
import { sourceDifferences, wantedChat } from './differences.ts';
import { inStep, stopsProvisioning, unrecordedError } from './failures.ts';
import { type InstallDeps, installMissing } from './install.ts';
import { createPlannedJobs } from './jobs.ts';
import type { ManifestDocument } from './manifest.ts';
import { endPlan, plannedSteps, type SpacePlan } from './plan.ts';
import { describeUnstarted, type ProvisionOptions, planDocument } from './plan-manifests.ts';
import { agentKey, SPACE_TYPE, type SpaceFact } from './space-record.ts';

export interface ProvisionDeps extends InstallDeps {
  readonly log: Log;
  /** What the state has about the spaces, by external id. */
  readonly facts: ReadonlyMap<string, SpaceFact>;
}

type ApplyOptions = ProvisionOptions & { readonly failFast: boolean };

/** Carries out documents. What a failure of one means for the others is kept here. */
class Provisioner {
  private readonly deps: ProvisionDeps;
  private readonly options: ApplyOptions;
  /** Why nothing more is started. */
  private stop: { readonly reason: unknown } | undefined;
  private stateCheck: Promise<void> | undefined;

  constructor(deps: ProvisionDeps, options: ApplyOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Provisions the space of a document, its agents, and their chats. Failures are in the plan. */
  async apply(document: ManifestDocument): Promise<SpacePlan> {
    if (this.stop || this.deps.interrupt.aborted) return await describeUnstarted(this.deps, document, 'skipped');
    let plan: SpacePlan;
    try {
      plan = await planDocument(this.deps, document, this.options);
    } catch (error) {
      plan = await describeUnstarted(this.deps, document, 'failed', error);
    }
    if (plan.error === undefined) await this.carryOut(plan);
    this.stopAfter(plan);
    return plan;
  }

  /** Records which space it is, and which agents it has, unless the state has that. */
  async record(plan: SpacePlan): Promise<void> {
    const { log, facts, http } = this.deps;
    const { space_id, agents, document } = plan;
    if (space_id === null) return;
    const { external_space_id } = document.manifest;
    const earlier = facts.get(external_space_id);
    const current = agents.flatMap(({ wanted, agent_id, source_id }) => {
      const { template_id } = wanted;
      return agent_id === null ? [] : [{ key: agentKey(wanted), agent_id, template_id, source_id }];
    });
    const ids = new Set(current.map(({ agent_id }) => agent_id));
    const older = earlier?.space_id === space_id ? earlier.agents.filter(({ agent_id }) => !ids.has(agent_id)) : [];
    const fact: SpaceFact = { origin: http.baseUrl, external_space_id, space_id, agents: [...older, ...current] };
    if (JSON.stringify(fact) === JSON.stringify(earlier)) return;
    try {
      await log.append([log.newRecord(SPACE_TYPE, { ...fact })]);
    } catch (error) {
      // What existed before can be found again.
      const isNew = plan.steps.some(({ status }) => status === 'created');
      if (isNew) endPlan(plan, unrecordedError(space_id, error));
      this.stopAfter(plan);
    }
  }

  /** Creates the jobs of the applied documents. */
  async createJobs(plans: readonly SpacePlan[]): Promise<void> {
    const { interrupt, createJobs } = this.deps;
    const reasonToStop = (): unknown => (interrupt.aborted ? interrupt.reason : this.stop?.reason);
    let error = reasonToStop();
    if (error === undefined) {
      try {
        await createPlannedJobs(plans, createJobs);
        // What ended the run is also the error of the documents whose jobs were not started.
        error = reasonToStop() ?? plans.find((plan) => plan.error !== undefined)?.error;
      } catch (failure) {
        error = failure;
      }
    }
    const isOpen = ({ steps }: SpacePlan) =>
      steps.some(({ op, status }) => op === 'create_job' && (status === 'planned' || status === 'skipped'));
    for (const plan of plans) if (plan.error === undefined && isOpen(plan)) endPlan(plan, error);
  }

  private stopAfter({ error }: SpacePlan): void {
    if (error !== undefined && (this.options.failFast || stopsProvisioning(error))) this.stop ??= { reason: error };
  }

  /** Before the first write: what is created could not be recorded. @throws LocalError */
  private checkState(): Promise<void> {
    this.stateCheck ??= this.deps.log.check();
    return this.stateCheck;
  }

  private async carryOut(plan: SpacePlan): Promise<void> {
    try {
      if (plan.steps.some(({ status }) => status === 'planned')) await this.checkState();
      await installMissing(this.deps, plan, this.options);
      await this.setUpChats(plan);
    } catch (error) {
      endPlan(plan, error);
    }
  }

  /** Sets up the chats that are missing (spec §4.2): the call is safe to repeat. */
  private async setUpChats(plan: SpacePlan): Promise<void> {
    for (const step of plannedSteps(plan, 'setup_chat')) {
      const { name, agent } = step;
      if (this.stop) throw this.stop.reason;
      try {
        const asked = wantedChat(agent.wanted) ?? {};
        const [space, id] = [plan.space_id ?? '', agent.agent_id ?? ''];
        const source = await setUpChatSource(this.deps.http, space, id, { ...CHAT_DEFAULTS, ...asked });
        const isNewAgent = plan.steps.some(
          (each) => each.op === 'install_agent' && each.agent === agent && each.status === 'created',
        );
        step.id = source.source_id;
        step.status = (source.created ?? isNewAgent) ? 'created' : 'unchanged';
        agent.source_id = source.source_id;
        plan.differences = [...plan.differences, ...sourceDifferences(name, source, asked)];
      } catch (error) {
        step.status = 'failed';
        throw inStep(`The API chat of the agent ${JSON.stringify(name)} is not set up`, error);
      }
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
  options: ApplyOptions,
): AsyncGenerator<SpacePlan> {
  const provisioner = new Provisioner(deps, options);
  return emitted(async (emit) => {
    const withJobs: SpacePlan[] = [];
    const endings: Promise<void>[] = [];
    const end = async (plan: SpacePlan): Promise<void> => {
      await provisioner.record(plan);
      if (plan.error === undefined && plannedSteps(plan, 'create_job').length > 0) withJobs.push(plan);
      else emit(plan);
    };
    const limit = pLimit(options.failFast ? 1 : options.concurrency);
    const apply = async (document: ManifestDocument): Promise<void> => {
      const ending = end(await provisioner.apply(document));
      endings.push(ending);
      // Records share a write: the next space need not wait for the one of this.
      if (options.failFast) await ending;
    };
    await Promise.all(documents.map((document) => limit(() => apply(document))));
    await Promise.all(endings);
    await provisioner.createJobs(withJobs);
    for (const plan of withJobs) emit(plan);
  });
}
