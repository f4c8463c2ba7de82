import { test } from 'vitest';
import { ECHOES, echoing, expectKeptSecret } from '../helpers/echoing.ts';
import { run } from '../helpers/run.ts';

test.each(Object.entries(ECHOES))(
  'a service that repeats the token %s finds it nowhere in what any command writes',
  async (_, echo) => {
    const baseUrl = await echoing(echo);
    await expectKeptSecret(
      (words, env) => run(words, { env }),
      () => baseUrl,
    );
  },
);
