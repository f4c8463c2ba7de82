import fc from 'fast-check';
import type { CronFields, CronSchedule } from '../../../src/cron/schedule.ts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

type Write = (value: number) => fc.Arbitrary<string>;

const digits: Write = (value) => fc.constantFrom(String(value), String(value).padStart(2, '0'));

/** Days as numbers or names, in any case. Sunday at the end of a range is written as 7 or by name elsewhere. */
const days: Write = (value) => {
  const name = DAYS[value % 7] ?? 'sun';
  return value === 7 ? fc.constant('7') : fc.constantFrom(String(value), name, name.toUpperCase());
};

function range(highest: number, write: Write): fc.Arbitrary<string> {
  return fc
    .tuple(fc.nat(highest), fc.nat(highest))
    .map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const)
    .chain(([low, high]) => fc.tuple(write(low), write(high)).map(([from, to]) => `${from}-${to}`))
    .filter((text) => !/^(?:0|sun)-sun$/i.test(text));
}

function field(highest: number, size: number, write: Write): fc.Arbitrary<string> {
  const single = fc.nat(highest).chain(write);
  const step = fc.integer({ min: 1, max: size });
  const between = range(highest, write);
  const stepped = fc.tuple(fc.oneof(fc.constant('*'), between), step).map(([base, by]) => `${base}/${by}`);
  const list = fc
    .array(fc.oneof(single, between, stepped), { minLength: 1, maxLength: 4 })
    .map((items) => items.join(','));
  return fc.oneof(fc.constant('*'), list);
}

/** Fields as people may write them. */
const writtenFields: fc.Arbitrary<CronFields> = fc.record({
  minute: field(59, 60, digits),
  hour: field(23, 24, digits),
  day_of_week: field(7, 7, days),
});

const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Calcutta');

export const writtenSchedule: fc.Arbitrary<CronSchedule> = fc
  .tuple(writtenFields, zone)
  .map(([fields, timezone]) => ({ ...fields, timezone }));
