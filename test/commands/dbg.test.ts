import { test } from 'vitest';
import { run } from '../helpers/run.ts';
import { manifest, service, write } from '../helpers/service.ts';
test('dbg', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    await it.faults({ kind: 'reset', stage: 'after', on: 'POST /automation/agent-templates/provision-space/$', times: 2 });
    const path = write('many.yaml', Array.from({ length: 3 }, (_, index) => manifest(`s${index}`)).join('---\n'));
    const ran = await run(['provision', path, '-o', 'json', '-v'], { env: it.env, random: () => 0 });
    console.log(ran.stderr, ran.stdout.slice(-200));
    for (const { space_id } of await it.spaces()) console.log((await it.agents(space_id)).length);
    console.log(JSON.stringify((await it.received()).map(({method,path,status,fault})=>[method,path,status,fault])));
});
