import { Problem } from '../problem.ts';
import { publicUpload } from '../routes/uploads.ts';
import type { Service } from '../service.ts';
import type { AdminRoute } from './route.ts';

/** What was uploaded, all of it at once, and its bytes, for which the partner API has no call. */
export function uploadAdmin(service: Service): AdminRoute[] {
  return [
    {
      method: 'GET',
      path: '/uploads',
      handle: (c) => c.json({ uploads: [...service.store.world.uploads.all()].map(publicUpload) }),
    },
    {
      method: 'GET',
      path: '/uploads/:upload_id/content',
      handle: async (c) => {
        const upload_id = c.req.param('upload_id') ?? '';
        const upload = service.store.world.uploads.get(upload_id);
        if (!upload) throw new Problem(404, 'upload_not_found', `There is no upload ${upload_id}.`);
        // Not the caller's own type: a browser must not carry out what was uploaded.
        const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': String(upload.bytes) };
        if (c.req.method === 'HEAD') return c.body(null, 200, headers);
        const file = await service.store.files.open(upload_id);
        return c.body(ReadableStream.from(file.createReadStream()), 200, headers);
      },
    },
  ];
}
