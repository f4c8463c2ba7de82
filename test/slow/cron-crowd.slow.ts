import { test } from 'vitest';
import { expectAllJobs, expectOneJob } from '../support/cron-crowd.ts';

const CROWD = 50;

test('fifty concurrent processes with the same job send one POST: one creates it, the others are blocked or wait', () =>
  expectOneJob(CROWD));

test('fifty concurrent processes with fifty jobs create fifty jobs with fifty ids, and the file is intact', () =>
  expectAllJobs(CROWD));
