import {
  arrayOf,
  BOOLEAN,
  type CommandOutput,
  described,
  type JsonSchema,
  listOf,
  nullable,
  object,
  oneOf,
  openObject,
  STRING,
} from '../output/output-schema.ts';
import { ERROR, NULLABLE_TEXT, SCHEDULE, SERVICE_ID } from './common.ts';

const KEY = described('the key of the job in the state', STRING);

/** The result of one job, also of a manifest's job in `provision`. */
export const CRON_RESULT: JsonSchema = object(
  {
    cron_job_id: NULLABLE_TEXT,
    status: oneOf('created', 'exists', 'adopted', 'blocked', 'unknown', 'planned', 'failed', 'skipped', 'valid'),
    agent_id: described('null if the agent is not installed yet', NULLABLE_TEXT),
    name: STRING,
    schedule: described('null if the job exists, and its schedule could not be compared', nullable(SCHEDULE)),
    in_words: NULLABLE_TEXT,
    key: nullable(KEY),
    next_runs: arrayOf(STRING),
  },
  {
    source: described('file and line of the job', STRING),
    differences: arrayOf(
      object(
        { field: oneOf('minute', 'hour', 'day_of_week', 'timezone', 'instructions') },
        { before: STRING, after: STRING },
      ),
    ),
    error: ERROR,
  },
);

export const CRON_CREATE: CommandOutput = {
  json: CRON_RESULT,
  variants: [
    { flags: ['schema'], json: null, text: 'the JSON Schema of a file of jobs' },
    { flags: ['file'], ...listOf(CRON_RESULT) },
  ],
};

export const CRON_LIST: CommandOutput = listOf(
  openObject(
    { recorded: described('whether the state has the job', BOOLEAN), in_words: NULLABLE_TEXT },
    {
      cron_job_id: nullable(SERVICE_ID),
      agent_id: nullable(SERVICE_ID),
      name: NULLABLE_TEXT,
      key: KEY,
      external_space_id: described('of the space of the agent, if the state knows it', STRING),
      remote: described('false if only the state has it', nullable(BOOLEAN)),
    },
  ),
);

export const CRON_RECONCILE: CommandOutput = listOf(
  object(
    {
      cron_job_id: NULLABLE_TEXT,
      status: oneOf('adopted', 'released', 'unknown', 'in_progress'),
      agent_id: STRING,
      name: STRING,
      key: KEY,
      reserved_at: STRING,
      candidates: described('the ids of the jobs that match', arrayOf(STRING)),
      note: STRING,
    },
    { schedule: nullable(SCHEDULE) },
  ),
);

export const CRON_ADOPT: CommandOutput = {
  json: object(
    { cron_job_id: STRING, status: oneOf('adopted'), agent_id: STRING, name: STRING, key: KEY },
    { schedule: nullable(SCHEDULE) },
  ),
};

export const CRON_FORGET: CommandOutput = {
  json: object({ status: oneOf('forgotten'), key: KEY, agent_id: NULLABLE_TEXT, name: NULLABLE_TEXT }),
};
