import { type CommandOutput, openObject } from '../output/output-schema.ts';

/** Of `help` for programs. */
export const HELP: CommandOutput = { json: openObject({}) };
