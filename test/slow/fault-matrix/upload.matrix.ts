import { UPLOAD } from './commands.ts';
import { declareCells } from './declare.ts';

await declareCells(UPLOAD);
