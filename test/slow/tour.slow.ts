import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFile } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';

test('npm start runs the tour, shows each command, and exits with 0', async () => {
  const tour = join(import.meta.dirname, '..', '..', '.ci', 'tour.js');
  const ran = await startFile(process.execPath, [tour], { env: { TMPDIR: tempDirectory() } });
  expect(ran).toMatchObject({ exitCode: 0 });
  for (const line of ['provision acme.yaml --check', 'plan acme.yaml', 'provision acme.yaml', 'spaces list']) {
    expect(ran.stdout).toContain(`$ partnerctl ${line}\n`);
  }
  expect(ran.stdout).toContain('agents list ext:acme-001');
  expect(ran.stdout).toMatch(/^\+ acme-001 +spc_\w+ .* created/m);
  expect(ran.stdout).toMatch(/^= acme-001 +spc_\w+ .* unchanged/m);
  expect(ran.stdout).toMatch(/^verified \[ticket-42\] assistant: Your invoice is attached\.$/m);
  expect(ran.stdout).toMatch(/^STATUS: +delivered\nOUTCOME: +responded with 2\d\d/m);
  const [, id] = /(doc_\w+) +uploaded +faq\.md /.exec(ran.stdout) ?? [];
  expect(ran.stdout).toMatch(new RegExp(`${id} +skipped +faq\\.md `));
});
