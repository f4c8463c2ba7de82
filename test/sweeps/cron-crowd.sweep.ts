import { test } from 'vitest';
import { expectAllJobs, expectOneJob } from '../faults/cron-crowd.ts';

const CROWD = 50;

test('fifty processes at once with the same job: one POST, one created, the others are blocked or wait for it', () =>
  expectOneJob(CROWD));

test('fifty processes at once with fifty jobs: fifty jobs, fifty ids, and the file is sound', () =>
  expectAllJobs(CROWD));
