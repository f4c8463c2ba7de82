import { test } from 'vitest';
import { expectAllJobs, expectOneJob } from '../support/cron-crowd.ts';

/** One process of each kind: with and without --ensure and the list. A sweep runs more. */
const CROWD = 6;

test(
  'six concurrent processes with the same job send one POST: one creates it, the others are blocked or wait',
  () => expectOneJob(CROWD),
  120_000,
);

test(
  'three concurrent processes with three jobs create three jobs with three ids, and the file is intact',
  () => expectAllJobs(CROWD / 2),
  120_000,
);
