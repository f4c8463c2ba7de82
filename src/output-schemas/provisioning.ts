import {
  ANYTHING,
  arrayOf,
  BOOLEAN,
  type CommandOutput,
  described,
  INTEGER,
  type JsonSchema,
  object,
  oneOf,
  STRING,
} from '../output/output-schema.ts';
import { ERROR, NULLABLE_TEXT, SCHEDULE } from './common.ts';
import { CRON_RESULT } from './cron.ts';

const SOURCE = described('file and line of the manifest', STRING);

const RESOURCE = oneOf('space', 'agent', 'chat', 'job');

const DIFFERENCE = object({ resource: RESOURCE, name: STRING, field: STRING, service: ANYTHING, manifest: ANYTHING });

const ACTION: JsonSchema = {
  anyOf: [
    object({ op: oneOf('create_space'), name: STRING }, { description: STRING, is_org_wide: BOOLEAN }),
    object(
      { op: oneOf('install_agent'), name: STRING, template_id: STRING },
      { auto_create_api_chat: BOOLEAN, api_chat_routing_mode: STRING },
    ),
    object({
      op: oneOf('setup_chat'),
      name: described('the name of the agent', STRING),
      source_name: STRING,
      reply_capable: BOOLEAN,
      routing_mode: STRING,
    }),
    object({
      op: oneOf('create_job'),
      name: STRING,
      agent: described('the name of the agent', STRING),
      schedule: SCHEDULE,
      in_words: STRING,
      next_runs: arrayOf(STRING),
    }),
  ],
};

const SPACE_PLAN = object(
  {
    source: SOURCE,
    external_space_id: STRING,
    space_id: NULLABLE_TEXT,
    action: oneOf('create', 'change', 'none', 'blocked'),
    actions: described('what would be created', arrayOf(ACTION)),
    differences: described('what differs and no call can change', arrayOf(DIFFERENCE)),
    unmanaged: described(
      'what the manifest does not have',
      arrayOf(
        object(
          { resource: oneOf('agent', 'job'), id: STRING, name: NULLABLE_TEXT },
          { template_id: STRING, agent: STRING },
        ),
      ),
    ),
  },
  { error: described('why provision would fail', ERROR) },
);

export const PLAN: CommandOutput = {
  json: object({
    spaces: arrayOf(SPACE_PLAN),
    summary: object({
      create: INTEGER,
      change: INTEGER,
      none: INTEGER,
      differences: INTEGER,
      unmanaged: INTEGER,
      blocked: INTEGER,
      to_create: object({ spaces: INTEGER, agents: INTEGER, chats: INTEGER, jobs: INTEGER }),
    }),
  }),
  ndjson: SPACE_PLAN,
};

const SPACE_RESULT = object(
  {
    source: SOURCE,
    external_space_id: STRING,
    space_id: described('a <space> of other commands', NULLABLE_TEXT),
    status: oneOf('created', 'reused', 'unchanged', 'planned', 'failed', 'skipped'),
    agents: arrayOf(
      object({
        agent_id: described('an <agent> of other commands', NULLABLE_TEXT),
        name: STRING,
        template_id: STRING,
        status: oneOf('created', 'unchanged', 'planned', 'blocked', 'failed', 'skipped'),
        source_id: described('the --source of chat commands; null without a chat', NULLABLE_TEXT),
      }),
    ),
    cron: arrayOf(CRON_RESULT),
  },
  { differences: arrayOf(DIFFERENCE), error: ERROR },
);

export const PROVISION: CommandOutput = {
  json: object({
    results: arrayOf(SPACE_RESULT),
    summary: object(
      { created: INTEGER, reused: INTEGER, unchanged: INTEGER, failed: INTEGER, skipped: INTEGER },
      { planned: described('with --check', INTEGER) },
    ),
  }),
  ndjson: SPACE_RESULT,
  variants: [
    { flags: ['schema'], json: null, text: 'the JSON Schema of a manifest' },
    { flags: ['dry-run'], ...PLAN },
  ],
};
