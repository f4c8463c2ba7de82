import { command, STATE_EXITS } from '../../cli/command.ts';
import { isJsonObject } from '../../contract/json.ts';
import { NotFoundError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import type { LogRecord } from '../../state-old/record.ts';
import { readStore, type StateStore } from '../../state-old/store.ts';

/** Fields that identify a space, an agent, a job, or a file. */
const IDENTIFYING_FIELDS = [
  'key',
  'cron_job_id',
  'agent_id',
  'name',
  'space_id',
  'external_space_id',
  'source_id',
  'filename',
  'upload_id',
  'sha256',
];

/** Fields with the id of what was created. */
const ID_FIELDS = ['cron_job_id', 'space_id', 'upload_id'];

/** A record, and who wrote it. */
interface BlameEntry {
  readonly at: string;
  readonly type: string;
  /** What the record is about: a name or an id. */
  readonly about: string;
  /** The id of what was created. */
  readonly object_id: string | null;
  readonly user: string | null;
  readonly host: string | null;
  readonly run: string | null;
  readonly version: string | null;
  readonly record: LogRecord;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Whether a record, or one of its agents, has the wanted name or id. */
function mentions(value: unknown, wanted: string): boolean {
  if (!isJsonObject(value)) return false;
  const { agents } = value;
  const nested = Array.isArray(agents) ? agents : [];
  return IDENTIFYING_FIELDS.some((field) => value[field] === wanted) || nested.some((agent) => mentions(agent, wanted));
}

/** The keys of all records with a name or an id. Records that end a reservation have only the key. */
async function keysOf(store: StateStore, wanted: string): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for await (const entry of readStore(store)) {
    if (entry.kind !== 'record' || !mentions(entry.record, wanted)) continue;
    const { key } = entry.record;
    if (typeof key === 'string') keys.add(key);
  }
  return keys;
}

function describe({ name, external_space_id, filename, agent_id, key }: LogRecord): string {
  const label = [name, external_space_id, filename, agent_id, key].find((value) => typeof value === 'string');
  return String(label ?? '');
}

function toBlameEntry(record: LogRecord): BlameEntry {
  const by = isJsonObject(record.by) ? record.by : {};
  return {
    at: record.at,
    type: record.type,
    about: describe(record),
    object_id: textOf(ID_FIELDS.map((field) => record[field]).find((value) => typeof value === 'string')),
    user: textOf(by.user),
    host: textOf(by.host),
    run: textOf(by.run),
    version: textOf(by.version),
    record,
  };
}

const COLUMNS: readonly Column<BlameEntry>[] = [
  { header: 'AT', value: ({ at }) => at, tone: () => 'dim', isTime: true },
  { header: 'WHAT', value: ({ type }) => type },
  { header: 'ABOUT', value: ({ about }) => about },
  { header: 'BY', value: ({ user, host }) => [user, host].filter((part) => part !== null).join('@') || 'not recorded' },
  { header: 'RUN', value: ({ run }) => run, fit: 'middle' },
];

export default command({
  description:
    'Shows who created something, when, and in which CI run: every record about a space, an agent, a scheduled job, or a file, the oldest first.',
  args: [
    {
      usage: '<what>',
      description:
        'the id of a space, an agent, a job, or an upload; ext:<external_space_id>; or the name of a job or a file',
    },
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/state.ts')).STATE_BLAME,
  exits: [...STATE_EXITS, 'notFound'],
  examples: [
    { line: 'partnerctl state blame cron_1', does: 'who scheduled this job' },
    { line: 'partnerctl state blame ext:acme-001 -o json', does: 'who provisioned this space, for a script' },
  ],
  parse: ({ positionals: [what = ''] }) => ({ what, wanted: what.replace(/^(ext|name):/, '') }),
  async run(context, { what, wanted }) {
    const store = await context.stateStore();
    const keys = await keysOf(store, wanted);
    const found: BlameEntry[] = [];
    for await (const entry of readStore(store)) {
      if (entry.kind !== 'record') continue;
      const { record } = entry;
      const isSameKey = typeof record.key === 'string' && keys.has(record.key);
      if (mentions(record, wanted) || isSameKey) found.push(toBlameEntry(record));
    }
    if (found.length === 0) {
      throw new NotFoundError(`The state has no record about ${JSON.stringify(what)}.`, {
        hint: 'List all records with: partnerctl state show',
      });
    }
    return listResult(found, COLUMNS, {
      empty: '',
      json: ({ record: { key, id }, ...fields }) => ({ ...fields, key: key ?? null, id }),
    });
  },
});
