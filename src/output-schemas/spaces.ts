import { BOOLEAN, type CommandOutput, described, listOf, openObject } from '../output/output-schema.ts';
import { SERVICE_ID, SERVICE_TEXT } from './common.ts';

export const SPACE_LIST: CommandOutput = listOf(
  openObject(
    {},
    {
      space_id: described('a <space> of other commands', SERVICE_ID),
      external_space_id: described('your own id; as a <space>: ext:<external_space_id>', SERVICE_TEXT),
      name: SERVICE_TEXT,
      description: SERVICE_TEXT,
      is_org_wide: BOOLEAN,
    },
  ),
);

export const AGENT_LIST: CommandOutput = listOf(
  openObject({}, { agent_id: described('an <agent> of other commands', SERVICE_ID), name: SERVICE_TEXT }),
);
