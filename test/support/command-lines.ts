import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MESSAGE } from './chat.ts';
import { CRON_JOBS, jobBody } from './cron.ts';
import { json, startFakeService } from './fake-service.ts';
import { tempDirectory } from './run.ts';
import { manifest, PROVISION, provisionBody, service } from './service.ts';

/* A valid command line for every command, and what it needs. */

export interface CommandLine {
  /** What follows `partnerctl`. A word in braces stands for an id, an address, or a file of `INPUT_FILES`. */
  readonly words: string;
  /** What it sends to the service. */
  readonly sends: 'nothing' | 'reads' | 'writes';
  /** The command line that must have run before it, with the same home. */
  readonly after?: string;
  /** Why it does not end by itself, or cannot run without a terminal. */
  readonly runs?: 'until Ctrl-C' | 'in a terminal';
}

const JOB = '--agent {agent} --name daily --instructions Look. --schedule @daily';
const CREATE_JOB = `cron create ${JOB}`;
const IN_SESSION = '--source {source} --session anna';
const SEND = `chat send ${IN_SESSION} Hello`;
const LOGIN = 'login --profile work';
const PROVISION_NEW = 'provision {new.yaml}';
const PLAN_OUT = 'plan {new.yaml} --out {directory}/plan.json';
const SET_LEAF = 'contract set spaces.list.items results';

export const COMMAND_LINES: readonly CommandLine[] = [
  { words: LOGIN, sends: 'reads' },
  { words: 'logout --profile work', sends: 'nothing', after: LOGIN },
  { words: 'whoami', sends: 'reads' },
  { words: 'doctor', sends: 'reads' },
  { words: 'profile list', sends: 'nothing' },
  { words: 'profile use work', sends: 'nothing', after: LOGIN },
  { words: 'profile show work', sends: 'nothing', after: LOGIN },
  { words: 'profile protect work', sends: 'nothing', after: LOGIN },
  { words: 'profile unprotect work', sends: 'nothing', after: LOGIN },
  { words: 'profile remove work', sends: 'nothing', after: LOGIN },
  { words: 'spaces list', sends: 'reads' },
  { words: 'spaces show ext:acme', sends: 'reads' },
  { words: 'agents list {space}', sends: 'reads' },
  { words: 'agents list ext:acme', sends: 'reads' },
  { words: 'plan {new.yaml}', sends: 'reads' },
  { words: PLAN_OUT, sends: 'reads' },
  { words: 'apply {directory}/plan.json', sends: 'writes', after: PLAN_OUT },
  { words: PROVISION_NEW, sends: 'writes' },
  { words: 'plan {each.yaml} --rows {customers.csv}', sends: 'reads' },
  { words: 'provision {full.yaml}', sends: 'writes' },
  { words: 'provision {two.yaml}', sends: 'writes' },
  { words: 'plan {new.yaml} --unmanaged', sends: 'reads' },
  { words: 'provision {new.yaml} --check', sends: 'nothing' },
  { words: 'export --out {directory}/out', sends: 'reads' },
  { words: 'chat setup {space} {agent}', sends: 'writes' },
  { words: 'chat setup ext:acme name:Support', sends: 'writes' },
  { words: `chat open ${IN_SESSION}`, sends: 'writes', runs: 'in a terminal' },
  { words: SEND, sends: 'writes' },
  { words: 'chat send --agent name:Support --space ext:acme --session anna Hello', sends: 'writes' },
  { words: `chat send ${IN_SESSION} --wait Hello`, sends: 'writes' },
  { words: 'chat send --source {source} --rows {rows.ndjson}', sends: 'writes' },
  { words: `chat wait ${IN_SESSION} --after {message}`, sends: 'reads' },
  { words: `chat tail ${IN_SESSION} --from-start --no-follow`, sends: 'reads' },
  { words: `chat tail ${IN_SESSION} --resume --no-follow`, sends: 'reads' },
  { words: 'chat watch --space {space} --no-follow', sends: 'reads', after: SEND },
  { words: 'state path', sends: 'nothing' },
  { words: 'state show', sends: 'nothing' },
  { words: 'state verify', sends: 'nothing' },
  { words: 'state init', sends: 'nothing' },
  { words: 'state copy {directory}/state.jsonl {directory}/copy.jsonl', sends: 'nothing', after: 'upload {note.txt}' },
  { words: 'upload {note.txt}', sends: 'writes' },
  { words: 'upload {note.txt} --as document', sends: 'writes' },
  { words: 'upload {note.txt} {rows.ndjson} {new.yaml}', sends: 'writes' },
  { words: CREATE_JOB, sends: 'writes' },
  { words: 'cron create -f {jobs.yaml}', sends: 'writes' },
  { words: 'cron list', sends: 'reads' },
  // It would read the list if the outcome of a create were unknown.
  { words: 'cron reconcile', sends: 'nothing' },
  { words: 'cron adopt {job} --agent {agent} --name morning --yes', sends: 'reads' },
  { words: 'cron forget --agent {agent} --name daily --yes', sends: 'nothing', after: CREATE_JOB },
  { words: 'webhook listen', sends: 'nothing', runs: 'until Ctrl-C' },
  { words: 'webhook replay {delivery.json} --forward-to {receiver}', sends: 'nothing' },
  { words: `webhook trigger ${IN_SESSION} --to {receiver}`, sends: 'nothing' },
  { words: 'api GET /automation/spaces/', sends: 'reads' },
  { words: 'api POST /automation/spaces/{space}/agents/{agent}/api-chat/ --data {}', sends: 'writes' },
  { words: 'contract show', sends: 'nothing' },
  { words: SET_LEAF, sends: 'nothing' },
  { words: 'contract unset spaces.list.items', sends: 'nothing', after: SET_LEAF },
  { words: 'contract import {openapi.json} --yes', sends: 'nothing' },
  { words: 'contract check', sends: 'reads' },
  { words: 'sandbox start', sends: 'nothing', runs: 'until Ctrl-C' },
  { words: 'sandbox run -- true', sends: 'nothing' },
  { words: 'sandbox rehearse {new.yaml} --seeds 1', sends: 'reads' },
  { words: 'completion bash', sends: 'nothing' },
  { words: 'completion zsh', sends: 'nothing' },
  { words: 'completion fish', sends: 'nothing' },
  { words: 'completion powershell', sends: 'nothing' },
  { words: 'chat test {talk.yaml} --source {source}', sends: 'writes' },
  { words: `chat record ${IN_SESSION}`, sends: 'reads', after: SEND },
];

/** Those that call the service and end by themselves. `apply` is left out: it reads its plan first. */
export const CALLS = COMMAND_LINES.filter(
  ({ words, sends, runs }) => sends !== 'nothing' && runs === undefined && !words.startsWith('apply '),
);

const MORNING = "{ name: morning, instructions: Look., schedule: '0 8 * * *' }";

/** The files that the command lines name. `{agent}` in them stands for the id of the agent. */
const INPUT_FILES: Readonly<Record<string, string>> = {
  'new.yaml': manifest('new', ['Support', 'Sales', 'Billing']),
  'full.yaml': manifest('full', ['Support', 'Sales']).replaceAll(
    /(tmpl_support.*) }/g,
    `$1, chat: {}, cron: [${MORNING}] }`,
  ),
  'two.yaml': `${manifest('anna', ['Support', 'Sales'])}---\n${manifest('bert', ['Support', 'Sales'])}`,
  'each.yaml': manifest('${ID}'),
  'customers.csv': 'ID\nanna\nbert\n',
  'jobs.yaml': `agent: '{agent}'\njobs:\n${['one', 'two', 'three'].map((name) => `  - ${MORNING.replace('morning', name)}\n`).join('')}`,
  'rows.ndjson': ['anna', 'ben', 'cleo'].map((name) => `{"session_id":"${name}","text":"Hi."}\n`).join(''),
  'note.txt': 'Opening hours: 9 to 5.',
  'talk.yaml': 'turns: [{ say: Hello }]',
  'delivery.json': JSON.stringify({
    delivery_id: 'dlv_1',
    received_at: '2026-01-01T00:00:00.000Z',
    verification: 'not-checked',
    reason: null,
    headers: [['content-type', 'application/json']],
    bytes: 0,
    sha256: hash('sha256', '', 'hex'),
    forwarded: null,
  }),
  'openapi.json': JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Partner Automation API', version: '1' },
    paths: { '/v1/automation/spaces/': { get: { responses: { 200: { description: 'The spaces.' } } } } },
  }),
};

/**
 * What the words in braces stand for. The agent has replied to `message`, no state has a record of `job`, `receiver` is the URL of a
 * program that accepts every webhook, and the files are in `directory`.
 */
type Things = Readonly<Record<'space' | 'agent' | 'source' | 'message' | 'job' | 'receiver' | 'directory', string>>;

/** Returns the arguments of a command line, and writes the input files that it names. */
export function argumentsOf(words: string, things: Things): string[] {
  const fill = (text: string): string => text.replaceAll(/(?<!\$)\{(\w+)\}/g, (_, name: keyof Things) => things[name]);
  const pathOf = (name: string): string => join(things.directory, name);
  for (const [name, text] of Object.entries(INPUT_FILES)) {
    if (words.includes(`{${name}}`)) writeFileSync(pathOf(name), fill(text));
  }
  // A saved delivery is two files.
  if (words.includes('{delivery.json}')) writeFileSync(pathOf('delivery.body'), '');
  return words.split(' ').map((word) => fill(word).replace(/^\{([\w.]+)\}$/, (_, name) => pathOf(name)));
}

/** Starts a service that has what the command lines need: a space with an agent, its chat source, and a job. */
export async function startScene() {
  const opened = await service({ script: [{ pattern: '', replies: [{ text: 'Noted.', delay_ms: 0 }] }] });
  const { partner, sandbox } = opened;
  const { json: provisioned } = await partner('POST', PROVISION, { body: provisionBody('acme') });
  const [{ agent_id: agent, integrations }] = provisioned.agents;
  const source: string = integrations.api_chat.source_id;
  const hello = { source_id: source, session_id: 'anna', text: 'Hello.', external_message_id: 'e1' };
  const { json: sent } = await partner('POST', MESSAGE, { body: hello });
  const { json: job } = await partner('POST', CRON_JOBS, { body: jobBody(agent, { name: 'morning' }) });
  const { baseUrl: receiver } = await startFakeService(json({}));
  await opened.forget();
  const directory = tempDirectory();
  const ids = { space: provisioned.space.space_id, message: sent.message_id, job: job.cron_job_id };
  const things: Things = { ...ids, agent, source, receiver, directory };
  const env = {
    ...opened.env,
    PATH: process.env.PATH ?? '',
    PARTNER_STATE: join(directory, 'state.jsonl'),
    PARTNER_SANDBOX_URL: sandbox.adminUrl,
    PARTNER_SANDBOX_KEY: sandbox.adminKey,
  };
  return { ...opened, env, things };
}
