import { arrayOf, type CommandOutput, described, INTEGER, object, oneOf, STRING } from '../output/output-schema.ts';

export const COMPLETION_SCRIPT: CommandOutput = { json: null, text: 'the script' };

export const COMPLETION_REFRESH: CommandOutput = {
  json: object({
    profile: STRING,
    base_url: STRING,
    spaces: described('the number of spaces that completion offers', INTEGER),
    agents: INTEGER,
    jobs: INTEGER,
    sources: INTEGER,
    sessions: INTEGER,
  }),
};

const CHANGE = object({
  file: STRING,
  action: described(
    'append adds `text` at the end; replace replaces the script, or the line that an earlier install added',
    oneOf('create', 'append', 'replace', 'none'),
  ),
  text: STRING,
});

export const COMPLETION_INSTALL: CommandOutput = {
  json: object({
    shell: oneOf('bash', 'zsh', 'fish', 'powershell'),
    status: oneOf('installed', 'unchanged', 'planned'),
    changes: arrayOf(CHANGE),
  }),
  ndjson: CHANGE,
};
