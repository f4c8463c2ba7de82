import { READING } from './commands.ts';
import { declareCells } from './declare.ts';

await declareCells(READING);
