import { expect } from 'vitest';
import { run } from './run.ts';
import { manifest, service, write } from './service.ts';

/** Imports the document that a shape of the sandbox publishes, and then runs every command once. */
export async function importAndRunEverything(shape: string): Promise<void> {
  const { env, sandbox, spaces, agents, admin } = await service({ shape });
  const answer = async <Shape>(...argv: string[]): Promise<Shape> => {
    const ran = await run([...argv, '-o', 'json'], { env });
    expect(ran.code, `${argv.join(' ')}\n${ran.stderr}`).toBe(0);
    return ran.json<Shape>();
  };
  await answer('contract', 'import', `${sandbox.baseUrl}/openapi.json`, '--yes', '--accept');
  await answer('provision', ...['one', 'two', 'three'].map((name) => write(`${name}.yaml`, manifest(name))));
  expect(await answer<unknown[]>('spaces', 'list')).toHaveLength(3);
  const spaceId = (await spaces()).find(({ external_space_id }) => external_space_id === 'one')?.space_id ?? '';
  expect(await answer<unknown[]>('agents', 'list', 'ext:one')).toHaveLength(1);
  const [agent] = await agents(spaceId);
  const { source_id } = await answer<{ source_id: string }>('chat', 'setup', spaceId, 'name:Support');
  const session = ['--source', source_id, '--session', 's'];
  for (const role of ['user', 'assistant']) {
    await admin('POST', '/messages', { source_id, session_id: 'other', role, text: 'Elsewhere.' });
  }
  const sent = await answer<{ reply: { text: string } }>('chat', 'send', ...session, '--wait', 'hello');
  expect(sent.reply.text).toContain('hello');
  const tail = ['chat', 'tail', ...session, '--from-start', '--no-follow', '--query', 'text'];
  const tailed = await run([...tail, '-o', 'ndjson'], { env });
  expect(tailed.code, tailed.stderr).toBe(0);
  // Times in seconds do not show which of the two came first.
  expect(tailed.stdout.trimEnd().split('\n').toSorted()).toEqual([JSON.stringify(sent.reply.text), '"hello"']);
  const job = ['--agent', agent?.agent_id ?? '', '--name', 'daily', '--minute', '0', '--hour', '9'];
  const created = await answer<{ cron_job_id: string }>('cron', 'create', ...job, '--instructions', 'Sum up.');
  expect(created.cron_job_id).toBeTruthy();
  expect(await answer<unknown[]>('cron', 'list')).toEqual([expect.objectContaining({ recorded: true })]);
  for (const kind of ['attachment', 'document']) {
    const uploaded = await answer<unknown[]>('upload', '--as', kind, write('note.txt', 'a note'));
    expect(uploaded).toEqual([expect.objectContaining({ status: 'uploaded' })]);
  }
}
