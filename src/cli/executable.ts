import { run as completeWord } from '../completion/entry.ts';
import { readAsset } from './installation.ts';
import { printPrepared } from './print-prepared.ts';
import { runProcess } from './start.ts';

/** The main script of the single executable; see .ci/executable.js. */
if (process.argv[2] === '__complete') completeWord(() => readAsset('complete.json'), [process.execPath]);
else if (!printPrepared(process.argv.slice(2))) void runProcess();
