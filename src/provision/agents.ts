import type { ListedAgent } from '../contract/resources.ts';
import { looseName } from '../cron/job.ts';
import { DuplicateError } from '../errors.ts';
import { recordOf, type SpaceFact } from '../state/space-record.ts';
import { hasName, isNamedByIgnore } from './differences.ts';
import type { Failure } from './failures.ts';
import { type Manifest, type ManifestAgent, type ManifestDocument, sourceOf } from './manifest.ts';

/*
 * Which agents of a space are those of its manifest, and which were probably edited in it: the API changes and removes
 * no agent, so that a second one stays for ever. Pure.
 */

interface Pairing {
  /** One for each agent of the manifest, in its order. */
  readonly pairs: readonly {
    readonly wanted: ManifestAgent;
    readonly present: ListedAgent | undefined;
    /** The agents of its name, of which none can be told to be it. */
    readonly candidates: readonly ListedAgent[];
  }[];
  /** The agents that the manifest does not have. */
  readonly free: readonly ListedAgent[];
}

/** The templates of agents: as the list shows them, or else as the state recorded them. */
function withTemplates(present: readonly ListedAgent[], fact: SpaceFact | undefined): readonly ListedAgent[] {
  const recorded = new Map(fact?.agents.map(({ agent_id, template_id }) => [agent_id, template_id]));
  return present.map((agent) => ({ ...agent, template_id: agent.template_id ?? recorded.get(agent.agent_id) }));
}

/**
 * Pairs each agent of a manifest with an existing one, which is used once: the one that the state recorded for it, the
 * one of its name and template, or, where nobody knows the template, of its name. Of several that match, none is taken.
 */
export function pairAgents(
  { agents: wanted, ignore }: Pick<Manifest, 'agents' | 'ignore'>,
  present: readonly ListedAgent[],
  fact?: SpaceFact,
): Pairing {
  const all = withTemplates(present, fact);
  const usable = all.filter(({ agent_id: id }) => !isNamedByIgnore(ignore, { resource: 'agent', id, name: null }));
  const found = new Map<ManifestAgent, ListedAgent>();
  const unclear = new Map<ManifestAgent, readonly ListedAgent[]>();
  const rules: readonly ((agent: ListedAgent, by: ManifestAgent) => boolean)[] = [
    ({ agent_id }, by) => recordOf(fact, by)?.agent_id === agent_id,
    (agent, by) => hasName(agent, by.name) && agent.template_id === by.template_id,
    (agent, by) => hasName(agent, by.name) && (agent.template_id === undefined || by.template_id === undefined),
  ];
  for (const matches of rules) {
    const used = new Set(found.values());
    const free = usable.filter((each) => !used.has(each));
    const open = wanted.filter((each) => !found.has(each) && !unclear.has(each));
    for (const each of open) {
      const candidates = free.filter((agent) => matches(agent, each));
      const [agent] = candidates;
      const isOnly =
        candidates.length === 1 && open.every((other) => other === each || !agent || !matches(agent, other));
      if (agent && isOnly) found.set(each, agent);
      else if (agent) unclear.set(each, candidates);
    }
  }
  const used = new Set([...found.values(), ...[...unclear.values()].flat()]);
  const pairs = wanted.map((each) => {
    const agent = found.get(each);
    return { wanted: each, present: agent, candidates: agent ? [] : (unclear.get(each) ?? []) };
  });
  return { pairs, free: all.filter((agent) => !used.has(agent)) };
}

function ambiguousError({ name }: ManifestAgent, candidates: readonly ListedAgent[], source: string): DuplicateError {
  const ids = candidates.map(({ agent_id }) => agent_id);
  const why =
    ids.length === 1
      ? `The manifest has several agents of this name, and neither the list nor the state knows the template of ${ids[0]}.`
      : `The service has several agents of this name: ${ids.join(' and ')}.`;
  return new DuplicateError(`Cannot tell which agent is ${JSON.stringify(name)} at ${source}.`, {
    why,
    hint: `Plan with the state of the run that installed it. Or say which one is not meant to be in the manifest: ignore: [{ resource: agent, name: ${ids.at(-1)} }]`,
    details: { source, agent: name, candidates: ids },
  });
}

function editedError(wanted: ManifestAgent, present: ListedAgent, source: string, spaceId: string): DuplicateError {
  const { agent_id, name: own = agent_id, template_id } = present;
  const [name, old] = [wanted.name, own].map((each) => JSON.stringify(each));
  const isRenamed = [undefined, template_id].includes(wanted.template_id) || template_id === undefined;
  const [field, before, after] = isRenamed
    ? ['name', own, wanted.name]
    : ['template_id', template_id, wanted.template_id];
  const difference = `${field} differs: the service has ${JSON.stringify(before)}, the manifest has ${JSON.stringify(after)}.`;
  const message = isRenamed
    ? `The agent ${name} is missing. It may be ${old} (${agent_id}), renamed in the manifest.`
    : `The agent ${old} (${agent_id}) has another template than ${name} in the manifest.`;
  return new DuplicateError(message, {
    why: `${difference}\nThe API cannot change or remove an agent: a second one would stay for ever.`,
    hint: `To keep it, write ${field} ${isRenamed ? old : template_id} at ${source}. To install a second agent, add --create-beside ${spaceId}`,
    details: { source, agent: wanted.name, agent_id, name: present.name ?? null, field, before, after },
  });
}

/**
 * Finds the agents of a manifest that must not be installed: those that one of the service may be, as it was before
 * somebody edited the manifest. What `ignore` names is meant to stay, and is none of them.
 * @param createBeside whether a second agent is wanted. One that cannot be told from another is refused all the same
 */
export function findEditedAgents(
  { pairs, free }: Pairing,
  document: ManifestDocument,
  createBeside: boolean,
): readonly Failure[] {
  const { external_space_id, ignore } = document.manifest;
  const others = free.filter(
    ({ agent_id: id, name = null }) => !isNamedByIgnore(ignore, { resource: 'agent', id, name }),
  );
  return pairs.flatMap(({ wanted, present, candidates }, index) => {
    const source = sourceOf(document, `agents/${index}`);
    if (candidates.length > 0) return [{ error: ambiguousError(wanted, candidates, source), source }];
    if (present || createBeside) return [];
    const named = others.find(({ name }) => name !== undefined && looseName(name) === looseName(wanted.name));
    const edited = named ?? others.find(({ template_id: id }) => id !== undefined && id === wanted.template_id);
    return edited ? [{ error: editedError(wanted, edited, source, external_space_id), source }] : [];
  });
}
