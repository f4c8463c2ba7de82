import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startFakeService } from '../support/fake-service.ts';
import { anyCharacter } from '../support/properties.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/* Random and damaged input of the program: it ends with a result, or with an error that is not a bug. */

const anyText = fc.string({ unit: anyCharacter, maxLength: 40 });

/** Texts of these parts, and of any characters. */
function soup(parts: readonly string[], maxLength = 40): fc.Arbitrary<string> {
  const part = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...parts) }, { weight: 1, arbitrary: anyText });
  return fc.array(part, { maxLength }).map((chosen) => chosen.join(''));
}

/** A text with parts removed, repeated, or replaced. */
function edited(start: string): fc.Arbitrary<string> {
  const edit = fc.record({ at: fc.nat(), length: fc.nat(8), insert: anyText, twice: fc.boolean() });
  return fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits) =>
    edits.reduce((text, { at, length, insert, twice }) => {
      const from = at % (text.length + 1);
      const cut = text.slice(from, from + length);
      return text.slice(0, from) + (twice ? cut + cut : insert) + text.slice(from + length);
    }, start),
  );
}

interface Problem {
  readonly line: number;
  readonly column: number;
}

/** Checks an input file: it is accepted, or every mistake is inside it. */
async function expectChecked(args: readonly string[], file: string, text: string): Promise<void> {
  const HOME = tempDirectory();
  const ran = await run([...args, write(file, text, HOME), '-o', 'json'], { env: { HOME } });
  expect(ran.stderr).not.toContain('This is a bug');
  // A valid file of jobs is refused for want of a service.
  if (ran.code === 0 || ran.stderr.includes('No base URL')) return;
  expect(ran.code).toBe(2);
  const { problems = [] } = (ran.error().details ?? {}) as { problems?: readonly Problem[] };
  const lines = text.split('\n');
  const isInside = ({ line, column }: Problem) => column >= 1 && column <= (lines[line - 1]?.length ?? -1) + 2;
  expect(problems.filter((problem) => 'line' in problem && !isInside(problem))).toEqual([]);
}

const PUNCTUATION = [...'{}[]"\'*#\n', '- ', ', ', ': ', '  ', '&a ', '*a', '---\n', '${A}', '!!str '];

describe('Any input file', () => {
  const manifests = fc.oneof(
    edited(`${manifest('a')}---\n${manifest('b', ['Support', 'Sales'])}`),
    soup([...PUNCTUATION, 'external_space_id', 'space', 'name', 'agents', 'template_id', 'cron', 'chat', 'true', '5']),
  );
  it('of manifests is accepted, or its mistakes are named inside it', async () => {
    await fc.assert(
      fc.asyncProperty(manifests, (text) => expectChecked(['provision', '--check'], 'a.yaml', text)),
      { numRuns: 1_000 },
    );
  });

  const words = 'agent agent_id name:x space name instructions schedule minute hour timezone jobs a1 5'.split(' ');
  const jobs = fc.oneof(
    edited(
      "jobs:\n  - { agent: a1, name: daily, instructions: Look., schedule: '0 9 * * 1-5', timezone: Europe/Berlin }\n",
    ),
    soup([...PUNCTUATION, ...words, "'0 9 * * 1-5'", 'Europe/Berlin', "'@daily'", '- {agent: a1, name: n, ']),
  );
  it('of jobs is accepted, or its mistakes are named inside it', async () => {
    await fc.assert(
      fc.asyncProperty(jobs, (text) => expectChecked(['cron', 'create', '-f'], 'jobs.yaml', text)),
      { numRuns: 1_000 },
    );
  });
});

const NAMES = [
  ...['results', 'data', 'items', 'spaces', 'cron_jobs', 'messages', 'next', 'links', 'meta', 'href', 'has_more'],
  ...['id', 'space_id', 'agent_id', 'message_id', 'cron_job_id', 'source_id', 'name', 'text', 'role', 'created_at'],
  ...['schedule', 'minute', 'hour', 'error', 'detail', 'message', 'code', 'toString', '__proto__', '\u0000'],
];
const leaf = fc.oneof(
  fc.constantFrom<unknown>('', '?page=2', 'https://x/y', 'assistant', '0 9 * * 1-5', null, true, 12345678901234),
  fc.integer(),
  anyText,
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    leaf,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom(...NAMES), anyText), tie('tree')), { maxLength: 6 })
      .map(Object.fromEntries),
  ),
}));
const brackets = fc.tuple(fc.constantFrom('[', '{"a":', '[[],'), fc.nat(3_000)).map(([open, n]) => open.repeat(n));
const bodies = fc.oneof(
  tree.map((value) => JSON.stringify(value)),
  brackets,
  edited('{"results":[{"space_id":"s1"}],"next":null}'),
);

const READS = [
  ['spaces', 'list'],
  ['agents', 'list', 'ext:acme'],
  ['cron', 'list'],
  ['chat', 'tail', '--source', 's', '--session', 'a', '--from-start', '--no-follow'],
];

const LINK_PARTS = '< > ; , = " rel next prev rel=next ?page=2 /v1/x //evil title*= %'.split(' ');
const links = soup(LINK_PARTS).map((text) => text.replace(/[^\x20-\x7e]/g, '?'));

it('Any response is read, or reported as one that cannot be, and no link of it leads below another path', async () => {
  let body = '';
  let link = '';
  const service = await startFakeService((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (!request.path.includes('?')) response.setHeader('link', link);
    response.end(body);
  });
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'pat_0123456789', HOME: tempDirectory() };
  await fc.assert(
    fc.asyncProperty(bodies, links, fc.constantFrom(...READS), async (text, header, args) => {
      [body, link] = [text, header];
      const ran = await run([...args, '--retries', '0'], { env, clock: fastClock(), random: tinyRandom });
      expect(ran.stderr).not.toContain('This is a bug');
      // Only the space of the agents can be one that there is not.
      expect(args[0] === 'agents' ? [0, 4, 8] : [0, 8]).toContain(ran.code);
      expect(service.requests.splice(0).filter(({ path }) => !path.startsWith('/v1/'))).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});
