import { printPrepared } from './quick.ts';
import { runProcess } from './start.ts';

/** The main script of the single executable; see .ci/executable.js. */
if (!printPrepared(process.argv.slice(2))) void runProcess();
