import { argumentsOf, type Scene } from '../../support/command-lines.ts';
import type { Exceptions } from './exit-codes.ts';

/** A row of the matrix. */
export interface MatrixCommand {
  readonly name: string;
  /** Its words in the catalogue, and more flags. */
  readonly words: string;
  readonly flags?: string;
  /** Runs before it; the responses to its writes are lost. */
  readonly afterLost?: string;
  /** What it adds at the service, each once. */
  readonly adds?: readonly string[];
  /** What stdout contains exactly once after success. */
  readonly shows?: readonly string[];
  /** Whether it has several items, of which some can fail: exit code 10. */
  readonly hasItems?: true;
  /** The exit code of a repeat after success, if that is blocked. */
  readonly repeatExits?: 5;
  /** Whether a repeat sends a new message: it lacks the --external-id that an error prints. */
  readonly repeatsMessages?: true;
  /** Whether an agent may be installed twice if the response was lost and the list is late: the plan shows it as unmanaged. */
  readonly repeatsAgents?: true;
  /** Settles an unknown outcome, so that the next run is not blocked. */
  readonly settle?: string;
  readonly exceptions?: Exceptions;
}

const agents = (space: string, names: readonly string[]): string[] => [
  `space ${space}`,
  ...names.map((name) => `agent ${space} ${name}`),
];

const SETTLE = 'cron reconcile --assume-not-created';
const CREATE_JOB = 'cron create --agent {agent} --name daily --instructions Look. --schedule @daily';
const IN_SESSION = '--source {source} --session anna';
const DAILY = 'job acme Support daily';

/** Without a list, the state is the guard. */
const WITHOUT_LIST = { denied: 0, forbidden: 0, 'not found': 0 };
/** A list of which a page was read is not taken for absent. */
const CUT_LIST = { forbidden: 8, 'not found': 8 };
/** A list that is read after a create can only warn. */
const ONLY_WARNS = {
  ...{ lost: 0, undone: 0, outage: 0, late: 0, unreadable: 0, redirect: 0, denied: 0, forbidden: 0, balance: 0 },
  ...{ 'not found': 0, limited: 0 },
};
/** Nothing may be written from a list that cannot be read. */
const NEEDS_LIST = { unreadable: 8 };

const GUARDED = {
  'first read': { ...WITHOUT_LIST, ...NEEDS_LIST },
  'later read': { ...CUT_LIST, ...NEEDS_LIST },
};
/** The list shows the job whose response was lost. */
const JOBS = { ...GUARDED, 'read after the writes': ONLY_WARNS, write: { lost: 0, unreadable: 0 } };
/** Without its token, nothing is provisioned. */
const TOKEN = { 'first read': { ...GUARDED['first read'], denied: 3 } };
const READS = { 'first read': NEEDS_LIST, 'later read': NEEDS_LIST };

export const COMMANDS: readonly MatrixCommand[] = [
  {
    name: 'spaces list',
    exceptions: READS,
    words: 'spaces list',
    flags: '-o json',
    shows: ['acme', 'other-1', 'other-2', 'other-3', 'other-4'].map((id) => `"external_space_id":"${id}"`),
  },
  {
    name: 'provision',
    exceptions: { ...GUARDED, ...TOKEN },
    repeatsAgents: true,
    words: 'provision {new.yaml}',
    adds: agents('new', ['Support', 'Sales', 'Billing']),
  },
  {
    name: 'provision with chats and jobs',
    exceptions: { ...JOBS, ...TOKEN },
    repeatsAgents: true,
    words: 'provision {full.yaml}',
    flags: '-o json',
    hasItems: true,
    adds: [...agents('full', ['Support', 'Sales']), 'job full Support morning', 'job full Sales morning'],
    settle: SETTLE,
  },
  {
    name: 'provision of two spaces',
    exceptions: { ...GUARDED, ...TOKEN },
    repeatsAgents: true,
    words: 'provision {two.yaml}',
    flags: '--concurrency 1',
    hasItems: true,
    adds: [...agents('anna', ['Support', 'Sales']), ...agents('bert', ['Support', 'Sales'])],
  },
  {
    name: 'chat setup',
    exceptions: READS,
    words: 'chat setup ext:acme name:Support',
    flags: '-o json',
  },
  {
    name: 'chat send --wait',
    exceptions: {
      write: { unreadable: 8 },
      'read after the writes': { outage: 11, late: 11, unreadable: 8, 'not found': 0 },
    },
    words: `chat send ${IN_SESSION} --wait Hello`,
    adds: ['message Hello'],
    shows: ['Noted.'],
    repeatsMessages: true,
  },
  {
    name: 'chat tail',
    exceptions: { 'first read': NEEDS_LIST, 'later read': { redirect: 0, 'not found': 0 } },
    words: `chat tail ${IN_SESSION} --from-start --no-follow`,
    flags: '--max-outage 20s',
    shows: ['Hello.', 'Noted.'],
  },
  { name: 'upload', words: 'upload {note.txt}', flags: '-o json', adds: ['file note.txt'] },
  {
    name: 'upload of three files',
    words: 'upload {note.txt} {rows.ndjson} {new.yaml}',
    flags: '--concurrency 1',
    hasItems: true,
    adds: ['file note.txt', 'file rows.ndjson', 'file new.yaml'],
  },
  { name: 'cron create', exceptions: JOBS, words: CREATE_JOB, adds: [DAILY], repeatExits: 5, settle: SETTLE },
  {
    name: 'cron create -f',
    exceptions: JOBS,
    words: 'cron create -f {jobs.yaml}',
    flags: '--ensure',
    hasItems: true,
    adds: ['one', 'two', 'three'].map((name) => `job acme Support ${name}`),
    settle: SETTLE,
  },
  {
    name: 'cron reconcile',
    exceptions: { 'first read': NEEDS_LIST },
    words: 'cron reconcile',
    afterLost: CREATE_JOB,
    adds: [DAILY],
    settle: SETTLE,
  },
];

/** The arguments of a command of the matrix. */
export function argumentsFor({ words, flags }: MatrixCommand, { things }: Scene): string[] {
  return [...argumentsOf(words, things), ...(flags?.split(' ') ?? [])];
}
