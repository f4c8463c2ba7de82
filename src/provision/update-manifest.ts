import { isScalar, parseDocument, visit } from 'yaml';
import { findDifferences, isNotShown, toNfc } from '../cron/job.ts';
import { parseExpression } from '../cron/schedule.ts';
import { InputError } from '../errors.ts';
import type { Path } from '../yaml/document.ts';
import { escapeVariables, type Lookup } from '../yaml/interpolate.ts';
import { problemsError, type YamlSource } from '../yaml/problem.ts';
import type { ExportedAgent, ExportedJob, ExportedSpace, FoundSpace } from './exported-space.ts';
import { isIgnored } from './ignore.ts';
import type { ManifestAgent, ManifestDocument } from './manifest.ts';
import { planSpace, type SpacePlan } from './plan.ts';
import { parseManifests } from './read-manifests.ts';

/** Sets the value at a path of the file, or removes it if there is no new one. */
type Edit = (path: Path, value: unknown) => void;

function updateJob(
  edit: Edit,
  path: Path,
  { timezone = 'UTC', ...job }: NonNullable<ManifestAgent['cron']>[number],
  shown: ExportedJob,
): void {
  const present = {
    instructions: shown.instructions,
    schedule: { ...parseExpression(shown.schedule), timezone: shown.timezone },
  };
  for (const { field } of findDifferences(present, { ...job, schedule: { ...job.schedule, timezone } })) {
    const key = field === 'instructions' || field === 'timezone' ? field : 'schedule';
    edit([...path, key], shown[key]);
  }
  if (isNotShown(job.instructions) && !isNotShown(shown.instructions))
    edit([...path, 'instructions'], shown.instructions);
}

/** Updates the jobs of an agent. Those that the service does not have are removed, others are appended. */
function updateJobs(edit: Edit, path: Path, cron: ManifestAgent['cron'] = [], shown: readonly ExportedJob[]): void {
  const byName = new Map(shown.map((job) => [toNfc(job.name), job]));
  let count = cron.length;
  // From the last one: a removal moves those behind it.
  for (const [index, job] of [...cron.entries()].reverse()) {
    const found = byName.get(toNfc(job.name));
    byName.delete(toNfc(job.name));
    if (found) updateJob(edit, [...path, index], job, found);
    else edit([...path, index], undefined);
    if (!found) count -= 1;
  }
  for (const [index, job] of [...byName.values()].entries()) edit([...path, count + index], job);
}

/** Updates an agent without its jobs and without what a plan says about it. */
function updateAgent(edit: Edit, path: Path, wanted: ManifestAgent, shown: ExportedAgent): void {
  if (isNotShown(wanted.template_id)) edit([...path, 'template_id'], shown.template_id);
  if (wanted.chat && !shown.chat) edit([...path, 'chat'], undefined);
  if (!wanted.chat && !wanted.auto_create_api_chat && shown.chat) edit([...path, 'chat'], shown.chat);
}

/** Sets what differs at the service, according to the plan of the manifest. */
function setDifferences(edit: Edit, plan: SpacePlan, { manifest, agents }: ExportedSpace): void {
  for (const { resource, name, field } of plan.differences) {
    const index = plan.agents.findIndex(({ wanted }) => wanted.name === name);
    const { wanted, agent_id } = plan.agents[index] ?? {};
    const shown = agents.get(agent_id ?? '');
    if (resource === 'space') edit(['space', field], Reflect.get(manifest.space, field));
    else if (resource === 'agent') edit(['agents', index, field], shown && Reflect.get(shown, field));
    else {
      const place = field in (wanted?.chat ?? {}) ? ['chat', field] : ['api_chat_routing_mode'];
      edit(['agents', index, ...place], Reflect.get(shown?.chat ?? {}, field));
    }
  }
}

/** Reads the manifest of a space. @throws InputError if the file has a mistake, or another document */
function readManifest(source: YamlSource, id: string, lookup: Lookup): ManifestDocument {
  const { documents, problems } = parseManifests([source], lookup);
  if (problems.length > 0) throw problemsError(problems);
  const [only, ...others] = documents;
  if (only?.manifest.external_space_id === id && others.length === 0) return only;
  const message = `${source.name} cannot be updated: it must have the space ${JSON.stringify(id)} as its only document.`;
  throw new InputError(message, { hint: 'Give each space a file of its own, or export into another directory.' });
}

/** Opens a text for edits. @returns `text` as it was, if there is none */
function openText({ name, text }: YamlSource): { readonly edit: Edit; text(): string } {
  const document = parseDocument(text, { merge: true, stringKeys: true, resolveKnownTags: false });
  let isChanged = false;
  let hasAliases = false;
  const Alias = (): void => {
    hasAliases = true;
  };
  visit(document, { Alias });
  return {
    edit(path, value) {
      if (hasAliases) {
        throw new InputError(`${name} cannot be updated: a change would affect all uses of its anchors.`, {
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
    },
    text: () => (isChanged ? document.toString({ lineWidth: 0, indentSeq: !/^\w+: *\n- /m.test(text) }) : text),
  };
}

/**
 * Updates the text of a manifest to what the service has, except what it ignores. What means the same stays as written,
 * with its comments; agents and jobs that the service does not have are removed.
 * @param lookup the value of a variable
 * @returns the same text if nothing differs
 * @throws InputError for a file with a mistake, another document, or a change where it has anchors
 */
export function updateManifest(source: YamlSource, exported: ExportedSpace, found: FoundSpace, lookup: Lookup): string {
  const document = readManifest(source, exported.manifest.external_space_id, lookup);
  const { agents: wanted, ignore } = document.manifest;
  const { edit, text } = openText(source);
  const plan = planSpace(document, found, { installRenamed: true });
  setDifferences(edit, plan, exported);
  let count = wanted.length;
  // From the last one: a removal moves those behind it.
  for (const [index, { agent_id }] of [...plan.agents.entries()].reverse()) {
    const agent = wanted[index];
    const shown = exported.agents.get(agent_id ?? '');
    if (agent && shown) {
      updateAgent(edit, ['agents', index], agent, shown);
      const isNew = ({ name }: ExportedJob) => !isIgnored(ignore, { resource: 'job', id: '', name });
      const known = new Set(agent.cron?.map(({ name }) => toNfc(name)));
      const jobs = (shown.cron ?? []).filter((job) => known.has(toNfc(job.name)) || isNew(job));
      updateJobs(edit, ['agents', index, 'cron'], agent.cron, jobs);
    } else if (agent_id === null) {
      edit(['agents', index], undefined);
      count -= 1;
    }
  }
  const missing = plan.unmanaged.flatMap(({ id }) => exported.agents.get(id) ?? []);
  for (const [index, agent] of missing.entries()) edit(['agents', count + index], agent);
  return text();
}
