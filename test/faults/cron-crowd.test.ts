import { test } from 'vitest';
import { expectAllJobs, expectOneJob } from './cron-crowd.ts';

const CROWD = 12;

test(
  'a dozen processes at once with the same job: one POST, one created, the others are blocked or wait for it',
  () => expectOneJob(CROWD),
  120_000,
);

test(
  'a dozen processes at once with a dozen jobs: a dozen jobs, a dozen ids, and the file is sound',
  () => expectAllJobs(CROWD),
  120_000,
);
