import type { Cell } from './cell.ts';
import { SESSION, TARGET } from './facts.ts';
import * as output from './output.ts';
import { replyTo } from './server.ts';

/** An operation that a person performs with the program. */
export interface Operation {
  readonly name: string;
  /** The leaves of the contract that can be the reason for a refusal. */
  readonly leaves: RegExp;
  /** Whether it can create something at the service, so that its outcome can be unknown. */
  readonly isWrite?: true;
  /** Whether only the list of jobs can show that a job exists: a service without that list may get a second one. */
  readonly needsJobList?: true;
  /** Whether it waits for a reply. */
  readonly isWait?: true;
  readonly perform: (cell: Cell) => Promise<void>;
}

const READ = '|^paths\\.|^error\\.';
const SPACES = new RegExp(`^spaces\\.list|^space\\.${READ}`);
const AGENTS = new RegExp(`^spaces\\.list|^space\\.|^agents\\.list|^agent\\.${READ}`);
const PROVISION = new RegExp(`^spaces?\\.|^agents?\\.${READ}`);
const SETUP = new RegExp(`^sources?\\.|^agents?\\.${READ}`);
const MESSAGES = new RegExp(`^messages?\\.${READ}`);
const ATTACHMENTS = new RegExp(`^file_attachments?\\.${READ}`);
const DOCUMENTS = new RegExp(`^documents?\\.${READ}`);
const JOBS = new RegExp(`^cron_jobs?\\.${READ}`);

const MANIFEST = `external_space_id: wayne-006
space: { name: Wayne, description: Support for Wayne, is_org_wide: false }
agents:
  - { template_id: tmpl_support, name: Support, auto_create_api_chat: true, api_chat_routing_mode: agent_inbox }
  - { template_id: tmpl_sales, name: Sales }
  - { template_id: tmpl_billing, name: Billing }
`;
const FILE = 'Opening hours: 9 to 5.\n';
const TEXT = 'My parcel is late.';
const SEND_ID = 'mail-17';

async function listSpaces(cell: Cell): Promise<void> {
  const { spaces } = cell.facts;
  await cell.run(['spaces', 'list'], [0], ({ stdout }) => output.checkSpaceRows(stdout, cell.service, spaces));
  const asJson = ['spaces', 'list', '-o', 'json'];
  await cell.run(asJson, [0], ({ stdout }) => output.checkSpaceObjects(stdout, spaces));
}

function listAgents(spaceOf: (cell: Cell) => string): Operation['perform'] {
  return async (cell) => {
    const agents = cell.facts.agentsOf(cell.facts.target.space_id);
    const argv = ['agents', 'list', spaceOf(cell)];
    await cell.run(argv, [0], ({ stdout }) => output.checkAgentRows(stdout, cell.service, agents));
  };
}

async function provision(cell: Cell, statuses: readonly string[], machine = 'first'): Promise<void> {
  const path = await cell.scene.write('wayne.yaml', MANIFEST, machine);
  const check = ({ stdout }: { stdout: string }): string[] => {
    const { spaces, sources } = cell.facts;
    const space = spaces.find(({ external_space_id }) => external_space_id === 'wayne-006');
    const agents = space ? cell.facts.agentsOf(space.space_id) : [];
    return output.checkProvision(stdout, { statuses, space, agents, sources });
  };
  await cell.run(['provision', path, '-o', 'json'], [0], check, machine);
}

function chat(cell: Cell, ...argv: readonly string[]): string[] {
  const [verb = '', ...rest] = argv;
  return ['chat', verb, '--source', String(cell.facts.source.source_id), '--session', SESSION, ...rest];
}

async function send(cell: Cell, created: boolean): Promise<void> {
  const argv = chat(cell, 'send', '--external-id', SEND_ID, TEXT, '-o', 'json');
  await cell.run(argv, [0], ({ stdout }) => {
    const sent = cell.facts.messages.filter(({ external_message_id }) => external_message_id === SEND_ID);
    if (sent.length !== 1) return [`the service has ${sent.length} such messages`];
    return output.checkFields(stdout, {
      message_id: sent[0]?.message_id,
      // An empty response proves nothing.
      created: cell.service.bodiless?.send === undefined ? created : null,
      external_message_id: SEND_ID,
      session_id: SESSION,
    });
  });
}

async function sendAndWait(cell: Cell): Promise<void> {
  await cell.run(chat(cell, 'send', '--external-id', SEND_ID, '--wait', TEXT), [0], ({ stdout }) =>
    stdout === `${replyTo(TEXT)}\n` ? [] : [`the reply is ${JSON.stringify(stdout)}`],
  );
}

async function wait(cell: Cell): Promise<void> {
  const { source } = cell.facts;
  const messages = cell.facts.session(source.source_id, SESSION);
  const after = String(messages[3]?.message_id);
  await cell.run(chat(cell, 'wait', '--after', after), [0], ({ stdout }) =>
    stdout === `${messages[4]?.text}\n` ? [] : [`the reply is ${JSON.stringify(stdout)}`],
  );
}

function tail(first: number): Operation['perform'] {
  return async (cell) => {
    const messages = cell.facts.session(cell.facts.source.source_id, SESSION);
    const from = first === 0 ? ['--from-start'] : ['--after', String(messages[first - 1]?.message_id)];
    await cell.run(chat(cell, 'tail', ...from, '--no-follow', '-o', 'ndjson'), [0], ({ stdout }) =>
      output.checkTail(stdout, messages.slice(first)),
    );
  };
}

async function upload(cell: Cell, kind: 'attachment' | 'document', status: string): Promise<void> {
  const path = await cell.scene.write('hours.md', FILE);
  await cell.run(['upload', path, '--as', kind, '-o', 'json'], [0], ({ stdout }) => {
    const { uploads } = cell.facts;
    const wanted = kind === 'document' ? 'document' : 'file_attachment';
    if (uploads.length !== 1 || uploads[0]?.kind !== wanted) return [`the service has ${uploads.length} files`];
    return output.checkUpload(stdout, status, uploads[0]);
  });
}

function createdJob(cell: Cell) {
  return cell.facts.jobs.find(({ name, agent_id }) => name === 'daily' && agent_id === cell.facts.agent.agent_id);
}

async function createJob(cell: Cell, codes: readonly number[] = [0], machine = 'first'): Promise<number> {
  const content = ['--name', 'daily', '--instructions', 'Sum up the day.', '--schedule', '0 18 * * 1-5'];
  // The next command would run later.
  await cell.scene.server.settle();
  const argv = ['cron', 'create', '--agent', String(cell.facts.agent.agent_id), ...content, '-o', 'json'];
  const { code } = await cell.run(
    argv,
    codes,
    ({ stdout, stderr, code }) => {
      const job = createdJob(cell);
      if (!job) return ['the service does not have the job'];
      if (cell.service.jobsStatus !== undefined && code === 0)
        return /list/.test(stderr) ? [] : ['does not say that there is no list'];
      const isKnown = code !== 9 && stdout !== '';
      return isKnown ? output.checkFields(stdout, { cron_job_id: job.cron_job_id, name: 'daily' }) : [];
    },
    machine,
  );
  return code;
}

async function listJobs(cell: Cell): Promise<void> {
  await createJob(cell);
  await cell.scene.server.settle();
  const { jobs } = cell.facts;
  await cell.run(['cron', 'list'], [0], ({ stdout }) => output.checkJobRows(stdout, cell.service, jobs));
  await cell.run(['cron', 'list', '-o', 'json'], [0], ({ stdout }) =>
    output.checkJobObjects(stdout, jobs, createdJob(cell)),
  );
}

/** The response to the creation is lost; the list shows that the job exists. */
async function reconcile(cell: Cell): Promise<void> {
  cell.scene.server.losesNextJob = true;
  const code = await createJob(cell, [0, 9]);
  cell.scene.server.losesNextJob = false;
  await cell.scene.server.settle();
  await cell.run(['cron', 'reconcile', '-o', 'json'], [0], ({ stdout }) => {
    const id = String(createdJob(cell)?.cron_job_id);
    return code === 9 && !stdout.includes(id) ? [`${id} is not adopted`] : [];
  });
  await createJob(cell, [5]);
}

/** The operations that every service is tested with: the columns of the table. */
export const OPERATIONS: readonly Operation[] = [
  { name: 'spaces list', leaves: SPACES, perform: listSpaces },
  { name: 'agents list by id', leaves: AGENTS, perform: listAgents(({ facts }) => String(facts.target.space_id)) },
  { name: 'agents list by ext', leaves: AGENTS, perform: listAgents(() => `ext:${TARGET.external}`) },
  { name: 'agents list by name', leaves: AGENTS, perform: listAgents(() => `name:${TARGET.name}`) },
  { name: 'provision', leaves: PROVISION, isWrite: true, perform: (cell) => provision(cell, ['created']) },
  {
    name: 'provision again',
    leaves: PROVISION,
    isWrite: true,
    perform: async (cell) => {
      await provision(cell, ['created']);
      await provision(cell, ['unchanged']);
    },
  },
  {
    name: 'provision on a second machine',
    leaves: PROVISION,
    isWrite: true,
    perform: async (cell) => {
      await provision(cell, ['created']);
      await provision(cell, ['unchanged', 'reused'], 'second');
    },
  },
  {
    name: 'chat setup',
    leaves: SETUP,
    isWrite: true,
    perform: async (cell) => {
      const { target, agent, source } = cell.facts;
      const argv = ['chat', 'setup', String(target.space_id), String(agent.agent_id), '-o', 'json'];
      await cell.run(argv, [0], ({ stdout }) => output.checkFields(stdout, { source_id: source.source_id }));
    },
  },
  { name: 'chat send', leaves: MESSAGES, isWrite: true, perform: (cell) => send(cell, true) },
  {
    name: 'chat send again',
    leaves: MESSAGES,
    isWrite: true,
    perform: async (cell) => {
      await send(cell, true);
      await send(cell, false);
    },
  },
  { name: 'chat send --wait', leaves: MESSAGES, isWrite: true, isWait: true, perform: sendAndWait },
  { name: 'chat wait', leaves: MESSAGES, isWait: true, perform: wait },
  { name: 'chat tail', leaves: MESSAGES, perform: tail(0) },
  { name: 'chat tail --after', leaves: MESSAGES, perform: tail(2) },
  {
    name: 'upload attachment',
    leaves: ATTACHMENTS,
    isWrite: true,
    perform: (cell) => upload(cell, 'attachment', 'uploaded'),
  },
  {
    name: 'upload document',
    leaves: DOCUMENTS,
    isWrite: true,
    perform: (cell) => upload(cell, 'document', 'uploaded'),
  },
  {
    name: 'upload again',
    leaves: ATTACHMENTS,
    isWrite: true,
    perform: async (cell) => {
      await upload(cell, 'attachment', 'uploaded');
      await upload(cell, 'attachment', 'skipped');
    },
  },
  {
    name: 'cron create',
    leaves: JOBS,
    isWrite: true,
    perform: async (cell) => {
      await createJob(cell);
    },
  },
  {
    name: 'cron create again',
    leaves: JOBS,
    isWrite: true,
    perform: async (cell) => {
      await createJob(cell);
      await createJob(cell, [5]);
    },
  },
  {
    name: 'cron create on a second machine',
    leaves: JOBS,
    isWrite: true,
    needsJobList: true,
    perform: async (cell) => {
      await createJob(cell);
      await createJob(cell, [0, 5], 'second');
    },
  },
  { name: 'cron list', leaves: JOBS, isWrite: true, perform: listJobs },
  { name: 'cron reconcile', leaves: JOBS, isWrite: true, perform: reconcile },
];
