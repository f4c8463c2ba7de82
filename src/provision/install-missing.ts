import { provisionSpace } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { describeFix, type UnknownShape } from '../contract/assumptions.ts';
import type { ProvisionResponse } from '../contract/provisioning.ts';
import { InterruptedError, NotFoundError, PartnerctlError, ShapeError } from '../errors.ts';
import { hasName } from './differences.ts';
import type { AppliedSpace } from './document-result.ts';
import type { ManifestAgent, ManifestDocument } from './manifest.ts';
import type { PlannedAgent, PresentAgent, ProvisionPlan } from './provision-plan.ts';
import { fetchAgents, RemoteStateUnavailable } from './remote-state.ts';
import { unlistedAgents } from './space-errors.ts';

/** The ids of agents; undefined stands for an agent whose id the service did not return. */
export type AgentIds = ReadonlySet<string | undefined>;

function isNamed(agent: PresentAgent, { name, template_id }: ManifestAgent): boolean {
  return hasName(agent, name) && (agent.template_id === undefined || agent.template_id === template_id);
}

/**
 * Matches each missing agent with the one that was installed for it: by name or, because a service may change names, by
 * template if exactly one agent of that template was missing and exactly one was installed.
 * @param installed agents that did not exist before
 */
function matchInstalled(
  missing: readonly PlannedAgent[],
  installed: readonly PresentAgent[],
): (PresentAgent | undefined)[] {
  const named = missing.map(({ wanted }) => installed.find((agent) => isNamed(agent, wanted)));
  const rest = installed.filter((agent) => !named.includes(agent));
  return missing.map(({ wanted }, index) => {
    const rivals = missing.filter((other, at) => !named[at] && other.wanted.template_id === wanted.template_id);
    const candidates = rest.filter(({ template_id }) => template_id === wanted.template_id);
    return named[index] ?? (rivals.length === 1 && candidates.length === 1 ? candidates[0] : undefined);
  });
}

/** The agents of a plan that were missing, as far as they were found. */
type InstalledAgents = Pick<AppliedSpace, 'agents' | 'failure' | 'isUnlisted'>;

/** Finds the agents that a POST installed: in its response or, if that does not name them all, in the list. */
async function findInstalled(
  http: Http,
  response: ProvisionResponse,
  missing: readonly PlannedAgent[],
  before: AgentIds,
): Promise<InstalledAgents> {
  const isNew = ({ agent_id }: PresentAgent): boolean => !before.has(agent_id);
  const named = matchInstalled(missing, response.agents.filter(isNew));
  if (named.every((agent) => agent)) return { agents: named };
  const { space_id, unreadable } = response;
  const find = (listed: readonly PresentAgent[], why?: string): InstalledAgents => {
    const ids = new Set(listed.map(({ agent_id }) => agent_id));
    const all = [...listed, ...response.agents.filter(({ agent_id }) => !ids.has(agent_id))];
    const installed = all.filter(isNew);
    const agents = matchInstalled(missing, installed);
    const lacking = missing.filter((_, index) => !agents[index]).map(({ wanted }) => wanted.name);
    if (lacking.length === 0) return { agents };
    const others = installed.filter((agent) => !agents.includes(agent));
    return { agents, failure: unlistedAgents(space_id, lacking, { others, why }), isUnlisted: true };
  };
  try {
    return find(await fetchAgents(http, space_id));
  } catch (error) {
    // The service may not know its new space yet.
    if (error instanceof NotFoundError) return find([], error.message);
    // The space is provisioned even if this read fails.
    if (error instanceof InterruptedError) return { agents: named };
    if (error instanceof RemoteStateUnavailable) {
      return { agents: named, failure: unreadable && toRefusal(unreadable) };
    }
    if (error instanceof PartnerctlError) return { agents: named, failure: error };
    throw error;
  }
}

function toRefusal({ message, seen, fix }: UnknownShape): ShapeError {
  return new ShapeError(message, { why: `The response lists ${seen}.`, hint: fix && describeFix(fix) });
}

/**
 * Converts an agent to the form that the provisioning call takes. Its jobs and its chat are set up by separate calls:
 * provisioning would create a chat source without the manifest's name and settings, and a source can never be changed.
 */
function toProvisionedAgent({ chat, cron: _, ...agent }: ManifestAgent): Omit<ManifestAgent, 'chat' | 'cron'> {
  if (!chat) return agent;
  const { template_id, name } = agent;
  return { template_id, name };
}

/**
 * Creates the space if it is missing, and installs the missing agents of a plan, in one POST.
 * @param before the agents that existed before, as far as they are known
 * @param spaceId the known id of the space, if it exists
 * @param timeoutMs the time limit of the POST in milliseconds; it is not sent later
 * @returns the space, and the agents that exist now, one for each agent of the plan
 * @throws PartnerctlError; OutcomeUnknownError if the POST may have been carried out
 */
export async function installMissing(
  http: Http,
  { manifest }: ManifestDocument,
  plan: ProvisionPlan,
  {
    before,
    spaceId,
    timeoutMs,
  }: { readonly before: AgentIds; readonly spaceId: string | undefined; readonly timeoutMs: number },
): Promise<AppliedSpace> {
  const missing = plan.agents.filter(({ present }) => !present);
  const body = { ...manifest, agents: missing.map(({ wanted }) => toProvisionedAgent(wanted)) };
  const response = await provisionSpace(http, body, { timeoutMs });
  const installed = await findInstalled(http, response, missing, before);
  const { space_id, created } = response;
  const isOther = spaceId !== undefined && spaceId !== space_id;
  const agents = plan.agents.map(
    (agent) => (isOther ? undefined : agent.present) ?? installed.agents[missing.indexOf(agent)],
  );
  return { ...installed, spaceId: space_id, created, agents, isOther };
}
