import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeRecord } from '../../src/state/record.ts';
import { shell } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';

const RECORDS = 10_000;

test('state show and verify read 10,000 records of 5 KB with a 32 MB heap', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const fill = 'x'.repeat(5 * 1024);
  const lines = Array.from({ length: RECORDS }, (_, index) =>
    encodeRecord({ type: 'note', at: '2026-01-02T03:04:05.000Z', id: String(index), fill }),
  );
  writeFileSync(path, `${lines.join('\n')}\n`);
  const settings = { env: { PARTNER_STATE: path, NODE_OPTIONS: '--max-old-space-size=32' } };
  const shown = shell('partnerctl state show -o ndjson | tee >(wc -l >&2) | tail -n 1', settings);
  const verified = shell('partnerctl state verify -o json', settings);
  const { exitCode, stdout, stderr } = await shown;
  expect({ exitCode, lines: stderr.trim() }).toEqual({ exitCode: 0, lines: String(RECORDS) });
  expect(JSON.parse(stdout)).toMatchObject({ line: RECORDS, id: String(RECORDS - 1), fill });
  expect(JSON.parse((await verified).stdout)).toMatchObject({ records: { note: RECORDS }, sound: true });
});
