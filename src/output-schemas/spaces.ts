import { BOOLEAN, type CommandOutput, described, listOf, serviceObject } from '../output/output-schema.ts';
import { ID, SERVICE_TEXT } from './common.ts';

export const SPACE_LIST: CommandOutput = listOf(
  serviceObject(
    {},
    {
      space_id: described('for <space>', ID),
      external_space_id: SERVICE_TEXT,
      name: SERVICE_TEXT,
      description: SERVICE_TEXT,
      is_org_wide: BOOLEAN,
    },
  ),
);

export const AGENT_LIST: CommandOutput = listOf(
  serviceObject({}, { agent_id: described('for <agent>', ID), name: SERVICE_TEXT }),
);
