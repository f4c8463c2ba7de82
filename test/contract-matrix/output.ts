import type { AgentFact, Id, JobFact, MessageFact, SourceFact, SpaceFact, UploadFact } from './facts.ts';
import type { Service } from './service.ts';

/** Checks of the output of commands against the facts. Each returns what is wrong. */

type Json = Readonly<Record<string, unknown>>;

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

function parse(stdout: string): unknown {
  try {
    // JavaScript cannot hold numbers of 19 digits.
    return JSON.parse(stdout.replaceAll(/(?<=":\s*)\d{19}\b/g, '"$&"'));
  } catch {
    return undefined;
  }
}

function rowsOf(stdout: string): string[][] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'));
}

function isSent({ names }: Service, field: string): boolean {
  return names?.paths?.[field] !== null;
}

function differs(what: string, got: unknown, wanted: unknown): string[] {
  return String(got) === String(wanted) ? [] : [`${what} is ${JSON.stringify(got)} instead of ${wanted}`];
}

/** Compares rows, in any order, with the expected cells; undefined matches anything. */
function findRowProblems(stdout: string, wanted: readonly (readonly (Id | undefined)[])[]): string[] {
  const rows = rowsOf(stdout);
  const isLike = (row: readonly string[], cells: readonly (Id | undefined)[]): boolean =>
    cells.every((cell, index) => cell === undefined || String(cell) === row[index]);
  const missing = wanted.filter((cells) => !rows.some((row) => isLike(row, cells)));
  return [
    ...(rows.length === wanted.length ? [] : [`${rows.length} rows instead of ${wanted.length}`]),
    ...missing.map((cells) => `no row has ${cells.filter((cell) => cell !== undefined).join(', ')}`),
  ];
}

/** Compares the objects of a JSON array, each of which must contain its texts. */
function findObjectProblems(stdout: string, wanted: readonly (readonly Id[])[]): string[] {
  const objects = parse(stdout);
  if (!Array.isArray(objects)) return ['stdout is not a JSON array'];
  const texts = objects.map((each) => JSON.stringify(each));
  const missing = wanted.filter((parts) => !texts.some((text) => parts.every((part) => text.includes(String(part)))));
  return [
    ...(objects.length === wanted.length ? [] : [`${objects.length} objects instead of ${wanted.length}`]),
    ...missing.map((parts) => `no object has ${parts.join(', ')}`),
  ];
}

export function checkSpaceRows(stdout: string, service: Service, spaces: readonly SpaceFact[]): string[] {
  const hasExternal = isSent(service, 'space.external_space_id');
  const hasDescription = isSent(service, 'space.description');
  return findRowProblems(
    stdout,
    spaces.map(({ space_id, external_space_id, name, description }) => [
      space_id,
      hasExternal ? (external_space_id ?? undefined) : undefined,
      name,
      hasDescription ? description : undefined,
    ]),
  );
}

export function checkSpaceObjects(stdout: string, spaces: readonly SpaceFact[]): string[] {
  return findObjectProblems(
    stdout,
    spaces.map(({ space_id, name }) => [space_id, name]),
  );
}

export function checkAgentRows(stdout: string, service: Service, agents: readonly AgentFact[]): string[] {
  const hasTemplates = service.names?.hasTemplates && isSent(service, 'agent.template_id');
  return findRowProblems(
    stdout,
    agents.map(({ agent_id, name, template_id }) => [
      agent_id,
      name ?? undefined,
      hasTemplates ? template_id : undefined,
    ]),
  );
}

export interface WantedProvision {
  readonly statuses: readonly string[];
  readonly space: SpaceFact | undefined;
  readonly agents: readonly AgentFact[];
  readonly sources: readonly SourceFact[];
}

export function checkProvision(stdout: string, { statuses, space, agents, sources }: WantedProvision): string[] {
  const document = parse(stdout);
  const results = isJson(document) && Array.isArray(document.results) ? document.results : [];
  const result: unknown = results[0];
  if (!isJson(result)) return ['there is no result on stdout'];
  const problems = differs('space_id', result.space_id, space?.space_id);
  if (!statuses.includes(String(result.status))) problems.push(`status ${result.status} instead of ${statuses}`);
  const shown: unknown[] = Array.isArray(result.agents) ? result.agents : [];
  if (shown.length !== agents.length) problems.push(`${shown.length} agents instead of ${agents.length}`);
  for (const { agent_id, name } of agents) {
    const found = shown.find((each) => isJson(each) && each.name === name);
    if (!isJson(found)) {
      problems.push(`agent ${name} is not shown`);
      continue;
    }
    problems.push(...differs(`agent_id of ${name}`, found.agent_id, agent_id));
    const source = sources.find((each) => each.agent_id === agent_id)?.source_id;
    if (found.source_id !== null) problems.push(...differs(`source_id of ${name}`, found.source_id, source));
  }
  return problems;
}

/** Checks the fields of one JSON object. */
export function checkFields(stdout: string, wanted: Readonly<Record<string, unknown>>): string[] {
  const value = parse(stdout);
  if (!isJson(value)) return ['stdout is not a JSON object'];
  return Object.entries(wanted).flatMap(([name, expected]) => differs(name, value[name], expected));
}

/** A message of the service itself belongs to neither side, whatever its role is called. */
function findRoleProblems(role: unknown, { author }: MessageFact): string[] {
  if (author !== 'system') return differs('role', role, author);
  return role === 'user' || role === 'assistant' ? [`a system message is shown as ${role}`] : [];
}

/** Checks the lines of a tail: all of these messages, in order, and nothing else. */
export function checkTail(stdout: string, messages: readonly MessageFact[]): string[] {
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(parse);
  const order = lines.map((line) => (isJson(line) ? (line.text ?? '') : line));
  const wanted = messages.map(({ text }) => text);
  if (JSON.stringify(order) !== JSON.stringify(wanted)) {
    return [`the texts are ${JSON.stringify(order)} instead of ${JSON.stringify(wanted)}`];
  }
  return lines.flatMap((line, index) => {
    const message = messages[index];
    if (!isJson(line) || !message) return ['a line is no JSON object'];
    return [
      ...differs('message_id', line.message_id, message.message_id),
      ...findRoleProblems(line.role, message),
      ...(line.session_id === null ? [] : differs('session_id', line.session_id, message.session_id)),
      ...(line.source_id === null ? [] : differs('source_id', line.source_id, message.source_id)),
      ...(line.created_at === null ? ['created_at is null'] : []),
    ];
  });
}

export function checkUpload(stdout: string, status: string, upload: UploadFact | undefined): string[] {
  const files = parse(stdout);
  const file: unknown = Array.isArray(files) ? files[0] : undefined;
  if (!isJson(file)) return ['there is no file on stdout'];
  return [
    ...differs('id', file.id, upload?.id),
    ...differs('status', file.status, status),
    ...differs('sha256', file.sha256, upload?.sha256),
  ];
}

export function checkJobRows(stdout: string, service: Service, jobs: readonly JobFact[]): string[] {
  const hasAgent = isSent(service, 'cron_job.agent_id');
  const problems = findRowProblems(
    stdout,
    jobs.map(({ cron_job_id, agent_id, name }) => [cron_job_id, hasAgent ? agent_id : undefined, name]),
  );
  const hasSchedule = !service.names?.schedule;
  if (hasSchedule && rowsOf(stdout).some(([, , , words]) => !words?.includes('At ')))
    problems.push('a schedule is blank');
  return problems;
}

export function checkJobObjects(stdout: string, jobs: readonly JobFact[], recorded: JobFact | undefined): string[] {
  const problems = findObjectProblems(
    stdout,
    jobs.map(({ cron_job_id, name }) => [cron_job_id, name]),
  );
  const objects = parse(stdout);
  if (!Array.isArray(objects)) return problems;
  for (const object of objects) {
    if (!isJson(object)) continue;
    const isRecorded = JSON.stringify(object).includes(JSON.stringify(recorded?.cron_job_id ?? '').replaceAll('"', ''));
    if (object.recorded !== isRecorded) problems.push(`recorded is ${object.recorded} in ${JSON.stringify(object)}`);
  }
  return problems;
}
