import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempDirectory } from '../helpers/run.ts';
import { partnerctl } from './client.ts';
import { oddService, type Trouble } from './odd-service.ts';

const IDS = Array.from({ length: 60 }, (_, index) => `acme-${String(index).padStart(3, '0')}`);

function manifest(): string {
  const file = join(tempDirectory(), 'many.yaml');
  const agents = '[{ template_id: tmpl_a, name: Sales }, { template_id: tmpl_b, name: Support }]';
  writeFileSync(
    file,
    IDS.map((id) => `external_space_id: ${id}\nspace: { name: ${id} }\nagents: ${agents}\n`).join('---\n'),
  );
  return file;
}

describe('many spaces at a time', () => {
  it('against a service that fails now and then: all there, none twice, exit 0, and no POST the second time', async () => {
    const warnings: string[] = [];
    const onWarning = (warning: Error): void => void warnings.push(String(warning));
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const troubles: Trouble[] = [503, 'reset after', 429, '502 after', 'cut after', ...Array<undefined>(8)];
    const asked = new Map<string, number>();
    let calm = false;
    const service = await oddService({
      pageSize: 25,
      envelope: (results, _, next) => ({ results, next }),
      // By what is asked, and not by its place among all: who comes when is a matter of luck, and must not fail so often in a row.
      trouble: ({ method, path, body }) => {
        const what = `${method} ${path} ${body}`;
        const times = (asked.get(what) ?? 0) + 1;
        asked.set(what, times);
        const begin = Buffer.from(what).reduce((sum, byte) => sum + byte, 0);
        return calm ? undefined : troubles[(begin + times * 5) % troubles.length];
      },
    });
    const argv = ['provision', manifest(), '-o', 'json', '--concurrency', '20', '--retries', '6'];
    const ran = await partnerctl(service.baseUrl, argv);
    expect({ code: ran.code, summary: ran.json<{ summary: object }>().summary }).toMatchObject({ code: 0 });
    expect([...service.spaces.keys()].sort()).toEqual(IDS);
    for (const id of IDS) expect(service.agentNames(id)).toEqual(['Sales', 'Support']);

    calm = true;
    const posts = service.posts().length;
    const again = await partnerctl(service.baseUrl, argv);
    expect(again.json()).toMatchObject({ summary: { unchanged: IDS.length } });
    expect(service.posts().length).toBe(posts);
    expect(warnings.filter((text) => text.includes('Listeners'))).toEqual([]);
  });
});
