import { expect, test } from 'vitest';
import { listResult } from '../../../src/output/command-result.ts';
import { writeScreens } from '../../../src/output/live-screen.ts';

const COLUMNS = [{ header: 'A', value: (text: string) => text }];

test('a table is drawn over the last one without clearing the screen from its top, of which tmux keeps a copy', async () => {
  async function* screens() {
    yield { list: listResult(['one', 'two'], COLUMNS), now: 0 };
    yield { list: listResult(['full-full'], COLUMNS), now: 0 };
  }
  const written: string[] = [];
  const write = async (text: string): Promise<void> => void written.push(text);
  await writeScreens(screens(), { write, isTTY: true, columns: 9, rows: 24 }, { color: false, isWide: false });
  expect(written).toEqual(['A\none\ntwo\n', '\x1b[3A\rA\x1b[K\nfull-full\n\x1b[K\x1b[0J']);
});
