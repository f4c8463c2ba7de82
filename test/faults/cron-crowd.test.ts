import { test } from 'vitest';
import { expectAllJobs, expectOneJob } from './cron-crowd.ts';

/** Each kind of process once: with and without --ensure and the list. A sweep runs more. */
const CROWD = 6;

test(
  'half a dozen processes at once with the same job: one POST, one created, the others are blocked or wait for it',
  () => expectOneJob(CROWD),
  120_000,
);

test(
  'three processes at once with three jobs: as many jobs and ids, and the file is sound',
  () => expectAllJobs(CROWD / 2),
  120_000,
);
