import { CHAT } from './commands.ts';
import { declareCells } from './declare.ts';

await declareCells(CHAT);
