import { runProcess } from './start.ts';

/** The main script of the single executable; see .ci/executable.js. */
void runProcess();
