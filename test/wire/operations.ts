import { isDeepStrictEqual } from 'node:util';
import type { Ran } from '../support/run.ts';
import { type Fact, type Facts, type Resource, SESSION } from './facts.ts';
import { parseJson, type Server } from './server.ts';
import { isWire, pathOf, type Service, show, type Wire } from './service.ts';

/** Something wrong in the output of a command. */
export interface Problem {
  readonly text: string;
  /** The warning that says so. Without, nothing excuses it. */
  readonly excuse?: RegExp;
}

/** One command of an operation. */
export interface Step {
  readonly argv: readonly string[];
  /** The exit code of success. */
  readonly code?: number;
  /** Whether another machine runs it, with no state. */
  readonly isElsewhere?: true;
  /** Whether it sends something only if a list is whole. */
  readonly isGuard?: true;
  readonly check: (ran: Ran, server: Server) => readonly Problem[];
}

/** A file in the directory that the commands run with: its name in `argv` becomes its path. */
export const FILES: Readonly<Record<string, string>> = {
  '@hours.md': 'Opening hours: 9 to 5.\n',
  '@wayne.yaml': `external_space_id: wayne-006
space: { name: Wayne, description: Support for Wayne, is_org_wide: false }
agents:
  - { template_id: tmpl_support, name: Support, auto_create_api_chat: true, api_chat_routing_mode: agent_inbox }
  - { template_id: tmpl_sales, name: Sales }
`,
};

/** The file with the manifest of the last space. */
export const LAST_SPACE = '@last.yaml';

export function manifestOfLastSpace({ space, agent }: Facts): string {
  const { external_space_id, name, description, is_org_wide } = space;
  const installed = { template_id: agent.template_id, name: agent.name };
  return JSON.stringify({ external_space_id, space: { name, description, is_org_wide }, agents: [installed] });
}

/** The command that creates a job. */
export function createJob(agentId: unknown, name: unknown): string[] {
  const content = ['--instructions', 'Sum up the day.', '--schedule', '0 18 * * 1-5', '-o', 'json'];
  return ['cron', 'create', '--agent', String(agentId), '--name', String(name), ...content];
}

const TEXT = 'My parcel is late.';

/** What a person does with the program, at a service with its first data. */
export type Operation = (server: Server) => readonly Step[];

/** What every service is tested with: the columns of the table. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'spaces list': ({ facts }) => [
    { argv: ['spaces', 'list'], check: rows('space', facts.spaces, ['space_id', 'external_space_id', 'name']) },
    { argv: ['spaces', 'list', '-o', 'json'], check: objects('space', facts.spaces) },
  ],
  'agents list': ({ facts }) => {
    const argv = ['agents', 'list', String(facts.space.space_id)];
    const agents = facts.agentsOf(facts.space.space_id);
    return [
      { argv, check: rows('agent', agents, ['agent_id', 'name']) },
      { argv: [...argv, '-o', 'json'], check: objects('agent', agents) },
    ];
  },
  'agents list of no space': ({ service }) => [
    { argv: ['agents', 'list', 'no-such-space'], code: failureCode(service), check: isFailure('no-such-space') },
  ],
  provision: ({ service }) => [
    { argv: ['provision', '@wayne.yaml', '-o', 'json'], check: provisioned(['created']) },
    {
      argv: ['provision', '@wayne.yaml', '-o', 'json'],
      isElsewhere: true,
      check: provisioned(reusedStatuses(service)),
    },
  ],
  'chat setup': ({ facts, service }) => {
    const setUp = ['chat', 'setup', String(facts.space.space_id)];
    return [
      {
        argv: [...setUp, String(facts.agent.agent_id), '-o', 'json'],
        check: fields(() => ({ source_id: facts.source.source_id })),
      },
      { argv: [...setUp, 'no-such-agent'], code: failureCode(service), check: isFailure('no-such-agent') },
    ];
  },
  'chat send': ({ facts }) => [
    {
      argv: [...chat(facts.source, 'send'), '--external-id', 'mail-17', TEXT, '-o', 'json'],
      check: fields(() => ({
        message_id: facts.messages.find(({ external_message_id }) => external_message_id === 'mail-17')?.message_id,
        session_id: SESSION,
      })),
    },
  ],
  'chat tail': ({ facts }) => {
    const messages = facts.session(facts.source.source_id, SESSION);
    const tail = [...chat(facts.source, 'tail'), '--no-follow', '-o', 'ndjson'];
    return [
      { argv: [...tail, '--from-start'], check: transcript(messages) },
      { argv: [...tail, '--after', String(messages[1]?.message_id)], check: transcript(messages.slice(2)) },
    ];
  },
  'cron create': ({ facts }) => {
    const argv = createJob(facts.agent.agent_id, 'daily');
    const check = fields(() => ({ cron_job_id: facts.jobs.find(({ name }) => name === 'daily')?.cron_job_id }));
    return [{ argv, check }];
  },
  'cron create of a listed job': ({ facts }) => {
    const [listed] = facts.jobs.slice(-1);
    return [{ argv: createJob(listed?.agent_id, listed?.name), code: 5, check: () => [] }];
  },
  'cron list': ({ facts }) => [
    { argv: ['cron', 'list'], check: rows('cron_job', facts.jobs, ['cron_job_id', 'name']) },
    { argv: ['cron', 'list', '-o', 'json'], check: objects('cron_job', facts.jobs) },
  ],
  'upload attachment': () => [
    { argv: ['upload', '@hours.md', '--as', 'attachment', '-o', 'json'], check: uploaded('file_attachment_id') },
  ],
  'upload document': () => [
    { argv: ['upload', '@hours.md', '--as', 'document', '-o', 'json'], check: uploaded('document_id') },
  ],
};

/** The operations that a service can be tested with: without a list of jobs, nothing tells that a job exists. */
export function operationsOf({ noJobList }: Service, names = Object.keys(OPERATIONS)): [string, Operation][] {
  const isThere = (name: string): boolean => noJobList === undefined || name !== 'cron create of a listed job';
  return Object.entries(OPERATIONS).filter(([name]) => names.includes(name) && isThere(name));
}

function chat({ source_id }: Fact, verb: string): string[] {
  return ['chat', verb, '--source', String(source_id), '--session', SESSION];
}

function problems(isProblem: boolean, text: string): Problem[] {
  return isProblem ? [{ text }] : [];
}

function differs(what: string, got: unknown, wanted: unknown): Problem[] {
  return problems(String(got) !== String(wanted), `${what} is ${JSON.stringify(got)} instead of ${wanted}`);
}

/** The exit code of a request for something that does not exist. */
function failureCode({ errorStatus }: Service): number {
  return errorStatus === 200 ? 8 : 4;
}

/** Nothing is printed as if it were a result, and the error names what does not exist. */
function isFailure(name: string): Step['check'] {
  return ({ stdout, stderr }) => [
    ...problems(stdout !== '', 'a failure is printed as a result'),
    ...problems(!stderr.includes(name), `the error does not name ${name}`),
  ];
}

/** Each fact has a row with these fields as cells, as far as they are sent. */
function rows(resource: Resource, facts: readonly Fact[], fields: readonly string[]): Step['check'] {
  return ({ stdout }, { service }) => {
    const wanted = fields.filter((field) => pathOf(service, resource, field) !== null);
    const found = stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')]));
    const texts = facts.map((fact) => wanted.map((field) => String(fact[field])));
    const missing = texts.filter((cells) => !found.some((row) => cells.every((cell) => row.includes(cell))));
    return [
      ...missing.map((cells) => ({ text: `no row has ${cells.join(', ')}` })),
      ...differs('the number of rows', found.length, facts.length),
    ];
  };
}

/** The objects of a JSON array have every field that the service sent, unchanged. */
function objects(resource: Resource, facts: readonly Fact[]): Step['check'] {
  return ({ stdout }, { service }) => {
    const found = parseJson(stdout);
    if (!Array.isArray(found)) return [{ text: 'stdout is no JSON array' }];
    const sent = facts.map((fact) => show(service, resource, fact));
    const missing = sent.filter((wire) => !found.some((each) => isWire(each) && hasAll(each, wire)));
    return [
      ...missing.map((wire) => ({ text: `no object is ${JSON.stringify(wire)}` })),
      ...differs('the number of objects', found.length, facts.length),
    ];
  };
}

/** The value at a dot path. */
export function valueAt(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, name) => (isWire(inner) ? inner[name] : undefined), object);
}

function hasAll(object: Wire, wanted: Wire): boolean {
  return Object.entries(wanted).every(([name, value]) => isDeepStrictEqual(object[name], value));
}

function fields(wanted: () => Fact): Step['check'] {
  return ({ stdout }) => {
    const found = parseJson(stdout);
    if (!isWire(found)) return [{ text: 'stdout is no JSON object' }];
    return Object.entries(wanted()).flatMap(([name, value]) => differs(name, found[name], value));
  };
}

/** What a second machine may say of a space that exists: without external ids in the list, it cannot know. */
function reusedStatuses(service: Service): string[] {
  const isListed = pathOf(service, 'space', 'external_space_id') !== null;
  return ['unchanged', 'reused', ...(isListed ? [] : ['created'])];
}

function provisioned(statuses: readonly string[]): Step['check'] {
  return ({ stdout }, { facts }) => {
    const [space, ...others] = facts.spaces.filter(({ external_space_id }) => external_space_id === 'wayne-006');
    const agents = facts.agentsOf(space?.space_id);
    const document = parseJson(stdout);
    const [result]: unknown[] = isWire(document) && Array.isArray(document.results) ? document.results : [];
    if (!isWire(result) || !Array.isArray(result.agents)) return [{ text: 'there is no result on stdout' }];
    const shown = result.agents.filter(isWire);
    return [
      ...differs('the number of further spaces', others.length, 0),
      ...differs('space_id', result.space_id, space?.space_id),
      ...problems(!statuses.includes(String(result.status)), `the status is ${result.status}`),
      ...differs(
        'the agents',
        shown.map((each) => each.agent_id),
        agents.map((each) => each.agent_id),
      ),
    ];
  };
}

/** The lines are these messages, in order, and nothing else. */
function transcript(messages: readonly Fact[]): Step['check'] {
  return ({ stdout }) => {
    const lines = stdout.split('\n').flatMap((line) => (line === '' ? [] : [parseJson(line)]));
    const texts = lines.map((line) => (isWire(line) ? line.text : line));
    const wanted = messages.map(({ text }) => text);
    if (String(texts) !== String(wanted)) {
      const isOnlyOrder = String(texts.toSorted()) === String(wanted.toSorted());
      return [{ text: `the texts are ${texts}`, ...(isOnlyOrder && { excuse: /\border\b/ }) }];
    }
    return messages.flatMap((message, index) => {
      const line = lines[index];
      if (!isWire(line)) return [{ text: 'a line is no JSON object' }];
      return [
        ...differs('message_id', line.message_id, message.message_id),
        ...differs('role', line.role, message.author).map((problem) => ({
          ...problem,
          excuse: /contract set message\.author/,
        })),
      ];
    });
  };
}

function uploaded(id: string): Step['check'] {
  return ({ stdout }, { facts }) => {
    const found = parseJson(stdout);
    const file: unknown = Array.isArray(found) ? found[0] : undefined;
    if (!isWire(file)) return [{ text: 'there is no file on stdout' }];
    return [...differs('id', file.id, facts.uploads[0]?.[id]), ...differs('status', file.status, 'uploaded')];
  };
}
