import { isScalar, parseDocument, visit } from 'yaml';
import { findDifferences, isNotShown, toNfc } from '../cron/job.ts';
import { InputError } from '../errors.ts';
import type { Path } from '../yaml/document.ts';
import { escapeVariables, type Lookup } from '../yaml/interpolate.ts';
import { problemsError, type YamlSource } from '../yaml/problem.ts';
import { agentDifferences, type Difference, spaceDifferences } from './differences.ts';
import { type ExportedAgent, type ExportedSpace, toIgnored } from './exported-space.ts';
import { isIgnored, withoutIgnored } from './ignore.ts';
import { toDifferences } from './jobs.ts';
import type { Manifest, ManifestAgent } from './manifest.ts';
import { pairAgents, toUnmanaged, type Unmanaged } from './plan.ts';
import { parseManifests } from './read-manifests.ts';

/** A manifest that is being updated. */
interface Draft {
  /** With the values of its variables. */
  readonly manifest: Manifest;
  /** Sets a value, or removes it if there is no new one. */
  readonly edit: (path: Path, value: unknown) => void;
  /** Takes what no manifest can describe. */
  readonly ignore: (others: readonly Unmanaged[]) => void;
}

/** Sets the fields that differ at the service, unless they are ignored. @param shown what the service has */
function updateFields({ manifest, edit }: Draft, path: Path, differences: readonly Difference[], shown: object): void {
  for (const { field } of withoutIgnored(manifest.ignore, differences)) {
    const key = ['minute', 'hour', 'day_of_week'].includes(field) ? 'schedule' : field;
    edit([...path, key], Reflect.get(shown, key));
  }
}

function updateJobs(draft: Draft, path: Path, { cron = [] }: ManifestAgent, found: ExportedAgent): void {
  const { manifest, edit, ignore } = draft;
  const others = new Set(found.others.map(({ name }) => toNfc(name ?? '')));
  const kept = new Set<string>();
  // From the last one: a removal moves those behind it.
  for (const [index, { timezone = 'UTC', ...job }] of [...cron.entries()].reverse()) {
    const at = [...path, 'cron', index];
    const key = toNfc(job.name);
    const shown = found.jobs.get(key);
    if (shown || others.has(key)) kept.add(key);
    else edit(at, undefined);
    if (!shown) continue;
    const { instructions } = shown.job;
    const present = { schedule: shown.schedule, instructions };
    const differences = findDifferences(present, { ...job, schedule: { ...job.schedule, timezone } });
    updateFields(draft, at, toDifferences(job.name, differences), shown.job);
    if (isNotShown(job.instructions) && !isNotShown(instructions)) edit([...at, 'instructions'], instructions);
  }
  let count = kept.size;
  for (const [key, { id, job }] of found.jobs) {
    if (kept.has(key) || isIgnored(manifest.ignore, { resource: 'job', id, name: job.name })) continue;
    edit([...path, 'cron', count], job);
    count += 1;
  }
  ignore(found.others.filter(({ name }) => !kept.has(toNfc(name ?? ''))));
}

function updateAgent(draft: Draft, path: Path, wanted: ManifestAgent, { agent, listed }: ExportedAgent): void {
  const { edit } = draft;
  const { chat, api_chat_routing_mode, auto_create_api_chat = false } = wanted;
  const differences = agentDifferences(wanted, listed);
  const ofChat = differences.filter(({ resource }) => resource === 'chat');
  updateFields(
    draft,
    path,
    differences.filter(({ resource }) => resource === 'agent'),
    agent,
  );
  updateFields(
    draft,
    [...path, 'chat'],
    ofChat.filter(({ field }) => field in (chat ?? {})),
    agent.chat ?? {},
  );
  if (api_chat_routing_mode && ofChat.some(({ field }) => field === 'routing_mode')) {
    edit([...path, 'api_chat_routing_mode'], agent.chat?.routing_mode);
  }
  if (isNotShown(wanted.template_id) && !isNotShown(agent.template_id))
    edit([...path, 'template_id'], agent.template_id);
  if (chat && listed.source_id === null) edit([...path, 'chat'], undefined);
  if (!chat && !auto_create_api_chat && agent.chat) edit([...path, 'chat'], agent.chat);
}

function updateAgents(draft: Draft, { agents, fact }: ExportedSpace): void {
  const { manifest, edit, ignore } = draft;
  const byListed = new Map(agents.map((agent) => [agent.listed, agent]));
  const { pairs, free } = pairAgents(manifest.agents, [...byListed.keys()], fact);
  let count = 0;
  for (const [index, { wanted, present }] of [...pairs.entries()].reverse()) {
    const found = present && byListed.get(present);
    if (found) {
      count += 1;
      updateAgent(draft, ['agents', index], wanted, found);
      updateJobs(draft, ['agents', index], wanted, found);
    } else edit(['agents', index], undefined);
  }
  for (const listed of free) {
    const found = byListed.get(listed);
    if (!found || isIgnored(manifest.ignore, toUnmanaged(listed))) continue;
    edit(['agents', count], found.agent);
    count += 1;
    ignore(found.others);
  }
}

/** Reads the manifest of a space. @throws InputError if the file has a mistake, or another document */
function readManifest(source: YamlSource, id: string, lookup: Lookup): Manifest {
  const { documents, problems } = parseManifests([source], lookup);
  if (problems.length > 0) throw problemsError(problems);
  const [only, ...others] = documents;
  if (only?.manifest.external_space_id === id && others.length === 0) return only.manifest;
  const message = `${source.name} cannot be updated: it must have the space ${JSON.stringify(id)} as its only document.`;
  throw new InputError(message, { hint: 'Give each space a file of its own, or export into another directory.' });
}

/**
 * Updates the text of a manifest to what the service has. What means the same stays as written, with its comments.
 * @param lookup the value of a variable
 * @returns the same text if nothing differs
 * @throws InputError for a file with a mistake, another document, or a change where it has anchors
 */
export function updateManifest(source: YamlSource, exported: ExportedSpace, lookup: Lookup): string {
  const manifest = readManifest(source, exported.manifest.external_space_id, lookup);
  const document = parseDocument(source.text, { merge: true, stringKeys: true, resolveKnownTags: false });
  let isChanged = false;
  let hasAliases = false;
  visit(document, {
    Alias() {
      hasAliases = true;
    },
  });
  const edit: Draft['edit'] = (path, value) => {
    if (hasAliases) {
      throw new InputError(`${source.name} cannot be updated: a change would affect all uses of its anchors.`, {
        hint: 'Replace the aliases (*) with what they stand for, or export into another directory and compare.',
      });
    }
    isChanged = true;
    const node = document.getIn(path, true);
    // A plain or folded text may not hold the new value; a scalar that stays keeps its comment.
    if (isScalar(node) && !node.type?.startsWith('QUOTE')) delete node.type;
    if (value === undefined) document.deleteIn(path);
    else if (typeof value === 'object') document.setIn(path, document.createNode(value, escapeVariables));
    else document.setIn(path, escapeVariables('', value));
  };
  let ignored = manifest.ignore?.length ?? 0;
  const ignore: Draft['ignore'] = (others) => {
    for (const each of others) {
      if (isIgnored(manifest.ignore, each)) continue;
      edit(['ignore', ignored], toIgnored(each));
      ignored += 1;
    }
  };
  const draft: Draft = { manifest, edit, ignore };
  updateFields(draft, ['space'], spaceDifferences(manifest, exported.space), exported.manifest.space);
  updateAgents(draft, exported);
  ignore(exported.others);
  if (!isChanged) return source.text;
  return document.toString({ lineWidth: 0, indentSeq: !/^\w+: *\n- /m.test(source.text) });
}
