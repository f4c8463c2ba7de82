import { parseDocument, visit } from 'yaml';
import { type CronDifference, findDifferences, isNotShown, toNfc } from '../cron/job.ts';
import { InputError } from '../errors.ts';
import type { Path } from '../yaml/document.ts';
import { escapeVariables, type Lookup } from '../yaml/interpolate.ts';
import { problemsError, type YamlSource } from '../yaml/problem.ts';
import { agentDifferences, type Difference, spaceDifferences } from './differences.ts';
import { type ExportedAgent, type ExportedSpace, toIgnored } from './exported-space.ts';
import { isIgnored, withoutIgnored } from './ignore.ts';
import type { Manifest, ManifestAgent } from './manifest.ts';
import { pairAgents, type Unmanaged } from './plan.ts';
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

/** Reads the manifest of a space. @throws InputError if the file has a mistake, or another document */
function readManifest(source: YamlSource, id: string, lookup: Lookup): Manifest {
  const { documents, problems } = parseManifests([source], lookup);
  if (problems.length > 0) throw problemsError(problems);
  const [only, ...others] = documents;
  if (only?.manifest.external_space_id === id && others.length === 0) return only.manifest;
  const message = `${source.name} cannot be updated: it must have the space ${JSON.stringify(id)} as its only document.`;
  throw new InputError(message, { hint: 'Give each space a file of its own, or export into another directory.' });
}

/** The fields that differ at the service, without ignored ones. */
function fieldsOf(
  { ignore }: Manifest,
  resource: Difference['resource'],
  differences: readonly Difference[],
): readonly string[] {
  const own = differences.filter((difference) => difference.resource === resource);
  return withoutIgnored(ignore, own).map(({ field }) => field);
}

function updateJobs({ manifest, edit, ignore }: Draft, path: Path, wanted: ManifestAgent, found: ExportedAgent): void {
  const { cron = [] } = wanted;
  const kept = new Set<string>();
  const others = new Set(found.others.map(({ name }) => toNfc(name ?? '')));
  // From the last one: a removal moves those behind it.
  for (const [index, job] of [...cron.entries()].reverse()) {
    const at = [...path, 'cron', index];
    const key = toNfc(job.name);
    const shown = found.jobs.get(key);
    if (shown || others.has(key)) kept.add(key);
    else edit(at, undefined);
    if (!shown) continue;
    const timezone = job.timezone ?? 'UTC';
    const current = { schedule: shown.schedule, instructions: shown.job.instructions };
    const before = findDifferences(current, { ...job, schedule: { ...job.schedule, timezone } });
    const toDifference = ({ field }: CronDifference): Difference => {
      return { resource: 'job', name: job.name, field, service: null, manifest: null };
    };
    const fields = fieldsOf(manifest, 'job', before.map(toDifference));
    const isFilled = isNotShown(job.instructions) && !isNotShown(current.instructions);
    if (fields.includes('timezone')) edit([...at, 'timezone'], shown.job.timezone);
    if (fields.includes('instructions') || isFilled) edit([...at, 'instructions'], current.instructions);
    if (['minute', 'hour', 'day_of_week'].some((field) => fields.includes(field)))
      edit([...at, 'schedule'], shown.job.schedule);
  }
  let count = kept.size;
  for (const [key, { id, job }] of found.jobs) {
    if (kept.has(key) || isIgnored(manifest.ignore, { resource: 'job', id, name: job.name })) continue;
    edit([...path, 'cron', count], job);
    count += 1;
  }
  ignore(found.others.filter(({ name }) => !kept.has(toNfc(name ?? ''))));
}

function updateAgent({ manifest, edit }: Draft, path: Path, wanted: ManifestAgent, found: ExportedAgent): void {
  const { agent, listed } = found;
  const differences = agentDifferences(wanted, listed);
  if (fieldsOf(manifest, 'agent', differences).includes('name')) edit([...path, 'name'], agent.name);
  if (isNotShown(wanted.template_id) && !isNotShown(agent.template_id)) {
    edit([...path, 'template_id'], agent.template_id);
  }
  const { chat, api_chat_routing_mode, auto_create_api_chat = false } = wanted;
  const fields = fieldsOf(manifest, 'chat', differences);
  for (const field of ['name', 'reply_capable', 'routing_mode'] as const) {
    if (chat?.[field] !== undefined && fields.includes(field)) edit([...path, 'chat', field], agent.chat?.[field]);
  }
  if (api_chat_routing_mode !== undefined && fields.includes('routing_mode')) {
    edit([...path, 'api_chat_routing_mode'], agent.chat?.routing_mode);
  }
  if (chat && listed.source_id === null) edit([...path, 'chat'], undefined);
  if (!chat && !auto_create_api_chat && agent.chat) edit([...path, 'chat'], agent.chat);
}

function updateAgents(draft: Draft, { agents, fact, others }: ExportedSpace): void {
  const { manifest, edit, ignore } = draft;
  const listed = agents.map((agent) => agent.listed);
  const { pairs, free } = pairAgents(manifest.agents, listed, fact);
  let count = 0;
  for (const [index, { wanted, present }] of [...pairs.entries()].reverse()) {
    const found = agents.find((agent) => agent.listed === present);
    if (!found) {
      edit(['agents', index], undefined);
      continue;
    }
    count += 1;
    updateAgent(draft, ['agents', index], wanted, found);
    updateJobs(draft, ['agents', index], wanted, found);
  }
  for (const found of agents) {
    const { agent_id: id, name = null } = found.listed;
    if (!free.includes(found.listed) || isIgnored(manifest.ignore, { resource: 'agent', id, name })) continue;
    edit(['agents', count], found.agent);
    count += 1;
    ignore(found.others);
  }
  ignore(others);
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
    if (value === undefined) document.deleteIn(path);
    // A scalar that replaces another one keeps its comment.
    else
      document.setIn(
        path,
        typeof value === 'object' ? document.createNode(value, escapeVariables) : escapeVariables('', value),
      );
  };
  let ignored = manifest.ignore?.length ?? 0;
  const ignore: Draft['ignore'] = (others) => {
    for (const each of others) {
      if (isIgnored(manifest.ignore, each)) continue;
      edit(['ignore', ignored], toIgnored(each));
      ignored += 1;
    }
  };
  const fields = fieldsOf(manifest, 'space', spaceDifferences(manifest, exported.space));
  for (const field of ['name', 'description', 'is_org_wide'] as const) {
    if (fields.includes(field)) edit(['space', field], exported.manifest.space[field]);
  }
  updateAgents({ manifest, edit, ignore }, exported);
  if (!isChanged) return source.text;
  return document.toString({ lineWidth: 0, indentSeq: !/^\w+: *\n- /m.test(source.text) });
}
