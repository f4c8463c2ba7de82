import { readBody } from '../body.ts';
import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import { issueToken, newTokenSchema, publicToken } from '../tokens.ts';
import type { AdminRoute } from './route.ts';

/** Partner tokens: the secret is shown once, in the answer that makes it. */
export function tokenAdmin(service: Service): AdminRoute[] {
  return [
    {
      method: 'POST',
      path: '/tokens',
      handle: async (c) => {
        const { record, secret } = issueToken(service, await readBody(c, newTokenSchema));
        return c.json({ ...publicToken(record), token: secret }, 201);
      },
    },
    {
      method: 'GET',
      path: '/tokens',
      handle: (c) => c.json({ tokens: service.store.world.tokens.all().map(publicToken) }),
    },
    {
      method: 'DELETE',
      path: '/tokens/:token_id',
      handle: (c) => {
        const token_id = c.req.param('token_id') ?? '';
        if (!service.store.world.tokens.get(token_id)) {
          throw new Problem(404, 'token_not_found', `There is no token ${token_id}.`);
        }
        service.store.commit({ kind: 'token_deleted', token_id });
        return c.body(null, 204);
      },
    },
  ];
}
