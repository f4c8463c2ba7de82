import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { parse as parseYaml } from 'yaml';
import type { Http } from '../../src/api/http.ts';
import { parseRetryAfter } from '../../src/api/retry.ts';
import { listSpaces } from '../../src/api/spaces.ts';
import { readAgent } from '../../src/contract/agents.ts';
import { UnknownShape } from '../../src/contract/assumptions.ts';
import { decodeChatSource } from '../../src/contract/chat-source.ts';
import { Contract } from '../../src/contract/contract.ts';
import { readCreatedCronJob, readCronJob } from '../../src/contract/cron.ts';
import { readErrorBody } from '../../src/contract/error-body.ts';
import { isJsonObject, JsonLimitError, parseJson } from '../../src/contract/json.ts';
import { readList, readStatedExtent } from '../../src/contract/lists.ts';
import { decodeAcknowledgement, decodeMessage, findHistoryEntries } from '../../src/contract/messages.ts';
import { proposeSteps } from '../../src/contract/next-page.ts';
import { readSigns } from '../../src/contract/page-signs.ts';
import { readProvisionResponse } from '../../src/contract/provisioning.ts';
import { readUploadId } from '../../src/contract/uploads.ts';
import { parseJobFiles } from '../../src/cron/jobs-file.ts';
import { describeSchedule, formatExpression, isSameSchedule, parseExpression } from '../../src/cron/schedule.ts';
import { ScheduleError } from '../../src/cron/schedule-error.ts';
import { ShapeError } from '../../src/errors.ts';
import { stringifyJson } from '../../src/output/formats/stringify-json.ts';
import { stringifyYaml } from '../../src/output/formats/yaml.ts';
import { decodeLine, encodeRecord } from '../../src/state/record.ts';
import { fileForm } from '../../src/upload/file-form.ts';
import { client } from '../faults/http-client.ts';
import { anyCharacter } from '../support/any-character.ts';
import { type FakeService, sendJson, startFakeService } from '../support/fake-service.ts';
import { YAML_PROPERTIES } from '../support/yaml-properties.ts';
import { allow, fuzz } from './fuzz.ts';

const anyText = fc.string({ unit: anyCharacter, maxLength: 40 });

/** Texts of these parts, and of any characters. */
function soup(parts: readonly string[], maxLength = 40): fc.Arbitrary<string> {
  const part = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...parts) }, { weight: 1, arbitrary: anyText });
  return fc.array(part, { maxLength }).map((chosen) => chosen.join(''));
}

/** A text with parts removed, repeated, or replaced. */
function edited(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const edit = fc.record({ at: fc.nat(), length: fc.nat(8), insert: anyText, twice: fc.boolean() });
  return fc.tuple(text, fc.array(edit, { maxLength: 4 })).map(([start, edits]) =>
    edits.reduce((current, { at, length, insert, twice }) => {
      const from = at % (current.length + 1);
      const cut = current.slice(from, from + length);
      return current.slice(0, from) + (twice ? cut + cut : insert) + current.slice(from + length);
    }, start),
  );
}

describe('YAML', () => {
  for (const [name, property] of Object.entries(YAML_PROPERTIES)) fuzz(name, property);

  const jobs = soup([
    ...['- ', '{', '}', '[', ']', ', ', ': ', '\n', '  ', '"', "'", '*', '&a ', '*a', '#', '---\n', '${A}', '!!str '],
    ...['agent', 'agent_id', 'name:x', 'space', 'name', 'instructions', 'schedule', 'minute', 'hour', 'day_of_week'],
    ...['timezone', 'jobs', "'0 9 * * 1-5'", 'Europe/Berlin', "'@daily'", 'a1', '5', 'true', '- {agent: a1, name: n, '],
  ]);
  fuzz(
    'any file of jobs is read without an exception, and its problems are inside it',
    fc.property(jobs, (text) => {
      const lines = text.split('\n');
      const { problems } = parseJobFiles([{ name: 'jobs.yaml', text }], () => 'x');
      const outside = problems.filter(({ line, column }) => column < 1 || column > (lines[line - 1]?.length ?? -1) + 2);
      expect(outside).toEqual([]);
    }),
  );
});

describe('cron fields', () => {
  const field = soup([...'0123456789*/,-? LW#', '10', '59', '60', 'mon', 'FRI', 'sunday', '@daily', '\t'], 8);
  const expression = fc.oneof(
    fc.tuple(field, field, field).map(([minute, hour, day]) => `${minute} ${hour} * * ${day}`),
    soup(['0', '*', ' ', '*/5', '1-5', ',', 'mon', '@weekly', 'TZ=UTC', '\t'], 14),
    soup(['9'.repeat(50), '1-', '/', ',', ' ', '*'], 200),
  );
  fuzz(
    'any expression is rejected as a schedule, or keeps its meaning and can be described',
    fc.asyncProperty(expression, async (text) => {
      const fields = allow([ScheduleError], () => parseExpression(text));
      if (!fields) return;
      const schedule = { ...fields, timezone: 'UTC' };
      const again = { ...parseExpression(formatExpression(fields)), timezone: 'UTC' };
      expect(isSameSchedule(schedule, again)).toBe(true);
      expect(await describeSchedule(schedule)).toMatch(/\(UTC\)$/);
    }),
  );
});

describe('JSON responses', () => {
  const names = [
    ...['results', 'data', 'items', 'spaces', 'cron_jobs', 'messages', 'history', 'next', 'links', 'meta', 'href'],
    ...['id', 'space_id', 'agent_id', 'message_id', 'cron_job_id', 'document_id', 'source_id', 'source', 'space'],
    ...['agent', 'agents', 'name', 'text', 'role', 'created', 'created_at', 'schedule', 'minute', 'hour', 'cron'],
    ...['error', 'errors', 'detail', 'message', 'code', 'total', 'has_more', 'toString', '__proto__', '\u0000', 'x'],
  ];
  const leaf = fc.oneof(
    fc.constantFrom('', '?page=2', 'https://x/y', '\u0000123\u0000', 'exact:1', 'assistant', '0 9 * * 1-5', null, true),
    fc.bigInt().map((value) => value * 10n ** 17n),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    anyText,
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      leaf,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc
        .array(fc.tuple(fc.oneof(fc.constantFrom(...names), anyText), tie('tree')), { maxLength: 6 })
        .map(Object.fromEntries),
    ),
  }));
  const body = tree.map((value) => stringifyJson(value));

  const contract = new Contract();
  const readers: readonly ((value: unknown) => unknown)[] = [
    (value) => readList(value, 'spaces'),
    (body) => proposeSteps(readSigns({ body, headers: {}, status: 200, itemCount: 1, headerLinks: {} }), 1),
    (value) => readStatedExtent(value),
    (value) => findHistoryEntries(value).map((entry) => decodeMessage(entry, contract)),
    (value) => readList(value, 'cron_jobs').map((item) => readCronJob(item, contract)),
    (value) => readList(value, 'agents').map((item) => readAgent(item, contract)),
    (value) => isJsonObject(value) && decodeMessage(value, contract),
    (value) => isJsonObject(value) && readCronJob(value, contract),
    (value) => isJsonObject(value) && readAgent(value, contract),
    (value) => decodeChatSource(value, contract),
    (value) => decodeAcknowledgement(value, contract),
    (value) => readCreatedCronJob(value, contract),
    (value) => readProvisionResponse(value, contract),
    (value) => readUploadId(value, 'document', contract),
    (value) => readUploadId(value, 'attachment', contract),
  ];
  fuzz(
    'any JSON is read, or reported as an unknown shape',
    fc.property(body, (text) => {
      const value = parseJson(text);
      for (const read of readers) allow([UnknownShape], () => read(value));
    }),
  );
  fuzz(
    'any JSON is printed as it was received, as JSON and as YAML',
    fc.property(body, (text) => {
      const value = parseJson(text);
      expect(stringifyJson(value)).toBe(text);
      expect(stringifyJson(parseYaml(stringifyYaml(value), { intAsBigInt: true, maxAliasCount: 0 }))).toBe(text);
    }),
  );
  const brackets = fc.tuple(fc.constantFrom('[', '{"a":', '[[],'), fc.nat(3_000)).map(([open, n]) => open.repeat(n));
  const digits = fc.nat(3_000).map((n) => '7'.repeat(n));
  fuzz(
    'any text is parsed, or rejected as not JSON or beyond the limits, and can be the body of an error',
    fc.property(
      fc.oneof(
        edited(body),
        soup(['[', ']', '{', '}', '"', ':', ',', '1', '\\u0000', 'e', '-', '.']),
        brackets,
        digits,
      ),
      (text) => {
        allow([SyntaxError, JsonLimitError], () => parseJson(text));
        readErrorBody(text, undefined);
      },
    ),
  );
});

describe('multipart names', () => {
  const name = fc.oneof(anyText, soup(['"', '\r', '\n', '\r\n', ';', '=', '\\', '--', '%22', 'name="x"', '.txt'], 10));
  fuzz(
    'any name of a file or a field stays in its own header',
    fc.property(name, name, name, (filename, field, value) => {
      const { head, contentType } = fileForm({
        filename,
        bytes: 1,
        contentType: 'text/plain',
        fields: [[field, value]],
      });
      const [, boundary = ''] = contentType.split('boundary=');
      const [before, first = '', last = '', ...more] = Buffer.from(head).toString().split(`--${boundary}\r\n`);
      expect([before, more]).toEqual(['', []]);
      const [fieldHead = ''] = first.split('\r\n\r\n');
      const [fileHead = '', rest] = last.split('\r\n\r\n');
      const encode = (text: string) =>
        text.toWellFormed().replace(/["\r\n]/g, (character) => encodeURIComponent(character));
      expect(fieldHead).toBe(`Content-Disposition: form-data; name="${encode(field)}"`);
      const disposition = `form-data; name="file"; filename="${encode(filename)}"`;
      expect([fileHead, rest]).toEqual([`Content-Disposition: ${disposition}\r\nContent-Type: text/plain`, '']);
    }),
  );
});

describe('lines of the state file', () => {
  const field = fc.oneof(anyText, fc.integer(), fc.constant(null), fc.array(anyText, { maxLength: 3 }));
  const record = fc.dictionary(anyText, field, { maxKeys: 5 }).map((fields) => ({
    ...fields,
    type: 'cron.created',
    at: '2026-01-01T00:00:00.000Z',
    id: 'r1',
    v: undefined,
    sum: undefined,
  }));
  const line = record.map(({ v: _, sum: __, ...fields }) => encodeRecord(fields));
  fuzz(
    'any record is read back as it was written',
    fc.property(record, ({ v: _, sum: __, ...fields }) => {
      const decoded = decodeLine(Buffer.from(encodeRecord(fields)));
      expect(decoded.kind === 'record' && JSON.stringify(sorted(decoded.record))).toBe(JSON.stringify(sorted(fields)));
    }),
  );
  fuzz(
    'any damage to a line is detected',
    fc.property(line, fc.nat(), fc.integer({ min: 1, max: 255 }), edited(line), (text, at, flip, other) => {
      const bytes = Buffer.from(text);
      const index = at % bytes.length;
      bytes[index] = (bytes[index] ?? 0) ^ flip;
      expect(decodeLine(bytes).kind).toBe('damaged');
      decodeLine(Buffer.from(other));
    }),
  );
});

function sorted(fields: object): [string, unknown][] {
  return Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1));
}

describe('headers', () => {
  const date = soup([
    'Wed, ',
    '01 ',
    'Jan ',
    '2026 ',
    '00:00:00 ',
    'GMT',
    '2026-01-01T00:00:00Z',
    '9',
    ' ',
    '-',
    '.',
    '1e9',
  ]);
  fuzz(
    'any Retry-After is a wait of at most a year, or ignored',
    fc.property(date, fc.option(date, { nil: undefined }), fc.nat(), (header, at, now) => {
      const ms = parseRetryAfter(header, at, now);
      if (ms === undefined) return;
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThanOrEqual(366 * 24 * 3_600_000);
    }),
  );

  const link = soup([
    '<',
    '>',
    ';',
    ',',
    '=',
    '"',
    ' ',
    'rel',
    'next',
    'prev',
    'rel=next',
    '?page=2',
    '/v1/x',
    '//evil',
    'title*=',
    '%',
    "UTF-8''",
  ]).map((text) => text.replace(/[^\x20-\x7e]/g, '?'));
  let header = '';
  async function serve(): Promise<{ service: FakeService; http: Http }> {
    const service = await startFakeService((request, response) => {
      const isFirst = request.path === '/v1/automation/spaces/';
      sendJson(response, [{ space_id: 's1' }], 200, isFirst ? { link: header } : {});
    });
    return { service, http: client(service.baseUrl).http };
  }
  let serving: Promise<{ service: FakeService; http: Http }> | undefined;
  fuzz(
    'any Link header is followed below the base URL, ignored, or reported as an unknown shape',
    fc.asyncProperty(link, async (text) => {
      serving ??= serve();
      const { service, http } = await serving;
      header = text;
      try {
        for await (const _ of listSpaces(http));
      } catch (error) {
        if (!(error instanceof ShapeError)) throw error;
      }
      const outside = service.requests.splice(0).filter(({ path }) => !path.startsWith('/v1/'));
      expect(outside).toEqual([]);
    }),
  );
});
