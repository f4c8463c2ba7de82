import { PROVISION } from './commands.ts';
import { declareCells } from './declare.ts';

await declareCells(PROVISION);
