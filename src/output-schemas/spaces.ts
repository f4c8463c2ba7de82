import { BOOLEAN, type CommandOutput, described, listOf, openObject } from '../output/output-schema.ts';
import { NULLABLE_TEXT, SERVICE_ID } from './common.ts';

export const SPACE_LIST: CommandOutput = listOf(
  openObject(
    {},
    {
      space_id: described('a <space> of other commands', SERVICE_ID),
      external_space_id: described('your own id; as a <space>: ext:<external_space_id>', NULLABLE_TEXT),
      name: NULLABLE_TEXT,
      description: NULLABLE_TEXT,
      is_org_wide: BOOLEAN,
    },
  ),
);

export const AGENT_LIST: CommandOutput = listOf(
  openObject({}, { agent_id: described('an <agent> of other commands', SERVICE_ID), name: NULLABLE_TEXT }),
);
