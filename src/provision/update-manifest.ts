import { isScalar, parseDocument, visit } from 'yaml';
import type { ListedAgent, ListedCronJob } from '../contract/resources.ts';
import { findDifferences, isNotShown, toNfc } from '../cron/job.ts';
import { parseExpression } from '../cron/schedule.ts';
import { DuplicateError, InputError } from '../errors.ts';
import type { Path } from '../yaml/document.ts';
import { escapeVariables, type Lookup } from '../yaml/interpolate.ts';
import { problemsError, type YamlSource } from '../yaml/problem.ts';
import { agentDifferences, isIgnored, withoutIgnored } from './differences.ts';
import type { ExportedAgent, ExportedJob, ExportedSpace, FoundSpace } from './exported-space.ts';
import { toDifference } from './jobs.ts';
import type { Manifest, ManifestAgent, ManifestDocument } from './manifest.ts';
import { agentsOf, planSpace, withTimezone } from './plan.ts';
import { parseManifests } from './read-manifests.ts';

/** Sets the value at a path of the file, or removes it if there is no new one. */
type Edit = (path: Path, value: unknown) => void;

/** A file that is updated, and what stays in it. */
interface Target {
  readonly edit: Edit;
  readonly ignore: Manifest['ignore'];
}

type ManifestJob = NonNullable<ManifestAgent['cron']>[number];

/** Updates the items of a list, each of which stays if `update` returns true, and adds others. */
function updateList<Item>(
  edit: Edit,
  path: Path,
  items: readonly Item[],
  { update, added }: { update(item: Item, path: Path, index: number): boolean; readonly added: readonly unknown[] },
): void {
  let count = items.length;
  // From the last one: a removal moves those behind it.
  for (const [index, item] of [...items.entries()].reverse()) {
    if (update(item, [...path, index], index)) continue;
    edit([...path, index], undefined);
    count -= 1;
  }
  for (const [index, item] of added.entries()) edit([...path, count + index], item);
}

function updateJob({ edit, ignore }: Target, path: Path, job: ManifestJob, shown: ExportedJob): void {
  const { instructions, timezone } = shown;
  const present = { instructions, schedule: { ...parseExpression(shown.schedule), timezone } };
  const found = findDifferences(present, withTimezone(job)).map((each) => toDifference(each, job.name, ''));
  for (const { field } of withoutIgnored(ignore, found)) {
    const key = field === 'instructions' || field === 'timezone' ? field : 'schedule';
    edit([...path, key], shown[key]);
  }
  if (job.instructions === undefined && !isNotShown(shown.instructions))
    edit([...path, 'instructions'], shown.instructions);
}

/** Jobs that are not `listed` are removed. `listed` also has those that no manifest can describe. */
function updateJobs(
  target: Target,
  path: Path,
  cron: readonly ManifestJob[],
  { shown, listed }: { readonly shown: readonly ExportedJob[]; readonly listed: readonly ListedCronJob[] },
): void {
  const { edit, ignore } = target;
  const byName = new Map(shown.map((job) => [toNfc(job.name), job]));
  const names = new Set(listed.map(({ name }) => toNfc(name ?? '')));
  const written = new Set(cron.map(({ name }) => toNfc(name)));
  const update = (job: ManifestJob, own: Path): boolean => {
    const found = byName.get(toNfc(job.name));
    if (found) updateJob(target, own, job, found);
    return found !== undefined || names.has(toNfc(job.name));
  };
  const isMissing = ({ name }: ExportedJob) =>
    !written.has(toNfc(name)) && !isIgnored(ignore, { resource: 'job', id: '', name });
  updateList(edit, path, cron, { update, added: shown.filter(isMissing) });
}

/** Updates an agent without its jobs. A chat that the service does not mention stays. */
function updateAgent(
  { edit, ignore }: Target,
  path: Path,
  wanted: ManifestAgent,
  { shown, listed }: { readonly shown: ExportedAgent; readonly listed: ListedAgent },
): void {
  if (wanted.template_id === undefined) edit([...path, 'template_id'], shown.template_id);
  const isModeMissing = wanted.chat && 'routing_mode' in wanted.chat && wanted.chat.routing_mode === undefined;
  if (isModeMissing && listed.source?.routing_mode !== undefined)
    edit([...path, 'chat', 'routing_mode'], shown.chat?.routing_mode);
  if (wanted.chat && listed.source_id === null) edit([...path, 'chat'], undefined);
  if (!wanted.chat && !wanted.auto_create_api_chat && shown.chat) edit([...path, 'chat'], shown.chat);
  for (const { resource, field } of withoutIgnored(ignore, agentDifferences(wanted, listed))) {
    if (resource === 'agent') edit([...path, field], Reflect.get(shown, field));
    const value = Reflect.get(shown.chat ?? {}, field);
    if (resource === 'chat' && field in (wanted.chat ?? {})) edit([...path, 'chat', field], value);
    if (resource === 'chat' && field === 'routing_mode' && wanted.api_chat_routing_mode)
      edit([...path, 'api_chat_routing_mode'], value);
  }
}

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
  if (document.errors.length > 0) throw new InputError(`${name} cannot be updated: it must be a single YAML document.`);
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
    text() {
      if (!isChanged) return text;
      const indent = /^( +)\S/m.exec(text)?.[1]?.length ?? 2;
      const updated = document.toString({ lineWidth: 0, indent, indentSeq: !/^\w+: *\r?\n- /m.test(text) });
      return text.includes('\r\n') ? updated.replaceAll('\n', '\r\n') : updated;
    },
  };
}

/**
 * Updates the text of a manifest to what the service has, except what it ignores. What means the same stays as written,
 * with its comments; agents and jobs that the service does not have are removed.
 * @param lookup the value of a variable
 * @returns the same text if nothing differs
 * @throws InputError for a file with a mistake, another document, or a change where it has anchors; DuplicateError for
 *   agents that cannot be told apart
 */
export function updateManifest(source: YamlSource, exported: ExportedSpace, found: FoundSpace, lookup: Lookup): string {
  const document = readManifest(source, exported.manifest.external_space_id, lookup);
  const { agents: wanted, ignore } = document.manifest;
  const { edit, text } = openText(source);
  const target = { edit, ignore };
  const plan = planSpace(document, found, true);
  const unclear = plan.failures.find(({ error }) => error instanceof DuplicateError);
  if (unclear) throw unclear.error;
  for (const { resource, field } of plan.differences)
    if (resource === 'space') edit(['space', field], Reflect.get(exported.manifest.space, field));
  const planned = agentsOf(plan);
  const update = (agent: ManifestAgent, path: Path, index: number): boolean => {
    const id = planned[index]?.agent_id ?? null;
    const shown = exported.agents.get(id ?? '');
    const listed = found.agents.find(({ agent_id }) => agent_id === id);
    if (!shown || !listed) return id !== null;
    updateAgent(target, path, agent, { shown, listed });
    const jobs = { shown: shown.cron ?? [], listed: [listed.agent_id, ''].flatMap(found.jobsOf) };
    updateJobs(target, [...path, 'cron'], agent.cron ?? [], jobs);
    return true;
  };
  const added = plan.unmanaged.flatMap(({ id }) => exported.agents.get(id) ?? []);
  updateList(edit, ['agents'], wanted, { update, added });
  return text();
}
