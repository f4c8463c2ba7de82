import { COMMANDS } from './commands.ts';
import { declareCells } from './declare.ts';

await declareCells(COMMANDS);
