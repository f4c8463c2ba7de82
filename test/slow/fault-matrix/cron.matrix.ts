import { CRON } from './commands.ts';
import { declareCells } from './declare.ts';

await declareCells(CRON);
